"""A checkout is opened: its environment found again when it vanished, and everything that differs told."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import pytest
from typing_extensions import override

from sandbox.errors import SandboxUnavailable, SetupFailed
from sandbox.spec import SYSTEM_PATH, SandboxSpec
from sandbox.types import (
    CHANGED,
    USUAL,
    Checkout,
    CommandResult,
    Door,
    Errand,
    Fidelity,
    FolderSource,
    JobHints,
    PythonPart,
    Recipe,
    Surroundings,
    TrustTier,
)
from sandbox.workspace import Sandboxes
from tests.fakes.scripted_backend import ScriptedBackend, ScriptedGuest

RECIPE = Recipe(command="pytest", parts=(PythonPart(requirements=("pytest",)),))


class Forgetful(ScriptedBackend):
    """The images of its environments vanish before they are opened, or it cannot open anything."""

    vanishing = 1
    broken = False

    @override
    @asynccontextmanager
    async def open(
        self, image: str, *, door: Door | None = None, surroundings: Surroundings = USUAL
    ) -> AsyncIterator[ScriptedGuest]:
        if self.broken:
            raise SandboxUnavailable("no more sandboxes")
        if self.vanishing:
            self.vanishing -= 1
            self.environments.clear()
            raise SandboxUnavailable("no such image")
        async with super().open(image) as guest:
            yield guest


def checkout(folder: Path, recipe: Recipe = RECIPE) -> Checkout:
    (folder / "project").mkdir()
    (folder / "project/m.py").write_text("x")
    (folder / "project/link").symlink_to("m.py")
    return Checkout(
        source=FolderSource(path=str(folder / "project")), recipe=recipe, tier=TrustTier.LOCAL
    )


@pytest.mark.anyio
async def test_an_environment_that_vanished_is_made_again_once(tmp_path: Path) -> None:
    backend = Forgetful()
    sandboxes = Sandboxes(SandboxSpec(), backend, tmp_path / "data")
    async with sandboxes.open_workspace(checkout(tmp_path)) as workspace:
        assert (await workspace.facts()).recipe.command == "pytest"
    await sandboxes.close()
    assert len(backend.setups) == 2
    assert backend.pruned == 1


@pytest.mark.anyio
async def test_what_is_wrong_with_the_daemon_is_not_taken_for_a_vanished_image(
    tmp_path: Path,
) -> None:
    backend = Forgetful()
    backend.broken = True
    sandboxes = Sandboxes(SandboxSpec(), backend, tmp_path / "data")
    async with sandboxes.open_workspace(checkout(tmp_path)) as workspace:
        with pytest.raises(SandboxUnavailable, match="no more sandboxes"):
            await workspace.facts()
    assert len(backend.setups) == 1


@pytest.mark.anyio
async def test_what_a_folder_leaves_out_and_a_python_that_is_another_are_told(
    tmp_path: Path,
) -> None:
    def script(argv: tuple[str, ...]) -> CommandResult | None:
        return (
            CommandResult(argv=argv, exit_code=0, stdout="Python 3.11.2\n")
            if argv[-1] == "-V"
            else None
        )

    sandboxes = Sandboxes(SandboxSpec(), ScriptedBackend(script), tmp_path / "data")
    async with sandboxes.open_workspace(
        checkout(tmp_path, RECIPE.with_part(PythonPart(version="3.9")))
    ) as workspace:
        notes = (await workspace.facts()).recipe.fidelity
    await sandboxes.close()
    assert ("import the folder", "dropped", "symbolic links (left out)") in [
        (note.step, note.treatment, note.reason) for note in notes
    ]
    assert "Python 3.9 is not available here; Python 3.11.2 is used" in [
        note.reason for note in notes
    ]


@pytest.mark.anyio
async def test_tests_that_would_import_another_package_end_it_with_module_and_folder(
    tmp_path: Path,
) -> None:
    def script(argv: tuple[str, ...]) -> CommandResult | None:
        if not any(word.endswith("checkout_origin.py") for word in argv):
            return None
        said = 'Python 3.11.2\n["mine", "/opt/env/lib/site-packages"]\n'
        return CommandResult(argv=argv, exit_code=0, stdout=said)

    sandboxes = Sandboxes(SandboxSpec(), ScriptedBackend(script), tmp_path / "data")
    recipe = RECIPE.with_part(PythonPart(install_project=True))
    async with sandboxes.open_workspace(checkout(tmp_path, recipe)) as workspace:
        with pytest.raises(SetupFailed, match="import `mine` from /opt/env/lib/site-packages/mine"):
            await workspace.facts()
    await sandboxes.close()


@pytest.mark.anyio
@pytest.mark.parametrize("said", ["[" * 100_000, "{", ""], ids=["deep", "cut", "too late"])
async def test_an_unreadable_answer_about_the_origin_ends_nothing(
    tmp_path: Path, said: str
) -> None:
    def script(argv: tuple[str, ...]) -> CommandResult | None:
        if not any(word.endswith("checkout_origin.py") for word in argv):
            return None
        return CommandResult(argv=argv, exit_code=0, stdout=f"Python 3.11.2\n{said}\n")

    sandboxes = Sandboxes(SandboxSpec(), ScriptedBackend(script), tmp_path / "data")
    recipe = RECIPE.with_part(PythonPart(install_project=True))
    async with sandboxes.open_workspace(checkout(tmp_path, recipe)) as workspace:
        assert (await workspace.facts()).interpreter == "Python 3.11.2"
    await sandboxes.close()


@pytest.mark.anyio
async def test_earlier_steps_run_after_the_checkout_is_placed_and_a_failing_one_ends_it(
    tmp_path: Path,
) -> None:
    def script(argv: tuple[str, ...]) -> CommandResult | None:
        late = CommandResult(argv=argv, exit_code=None, timed_out=True, stdout="so far")
        return late if argv[-1] == "make gen" else None

    backend = ScriptedBackend(script)
    recipe = RECIPE.with_(prepare=("true", "make gen", "never"))
    sandboxes = Sandboxes(SandboxSpec(command_wall_s=7), backend, tmp_path / "data")
    async with sandboxes.open_workspace(checkout(tmp_path, recipe)) as workspace:
        with pytest.raises(SetupFailed, match="took longer than 7 s: make gen") as caught:
            await workspace.facts()
        assert backend.open_now == 0  # what could not be opened waits for nobody
    await sandboxes.close()
    assert caught.value.log == "so far"
    assert not any(command[-1] == "never" for command in backend.guests[0].commands)


@pytest.mark.anyio
async def test_an_earlier_build_that_fails_here_is_left_out_and_named(tmp_path: Path) -> None:
    def script(argv: tuple[str, ...]) -> CommandResult | None:
        return CommandResult(argv=argv, exit_code=1) if argv[-1].endswith("next build") else None

    backend = ScriptedBackend(script)
    build = "cd site && npx next build"
    recipe = RECIPE.with_(
        prepare=(build, "make gen"),
        may_fail=(build,),
        fidelity=(Fidelity(step="npx next build", treatment="replayed", reason=""),),
    )
    sandboxes = Sandboxes(SandboxSpec(), backend, tmp_path / "data")
    async with sandboxes.open_workspace(checkout(tmp_path, recipe)) as workspace:
        found = (await workspace.facts()).recipe
        await workspace.revert()
    await sandboxes.close()
    assert (found.prepare, found.may_fail) == (("make gen",), ())
    reason = "it failed without network; it passed in the job"
    assert [note for note in found.fidelity if "next" in note.step] == [
        Fidelity(step=build, treatment="dropped", reason=reason)
    ]
    ran = [argv[-1] for argv in backend.guests[0].commands]
    assert (ran.count(build), ran.count("make gen")) == (1, 1)


@pytest.mark.anyio
async def test_our_own_programs_in_the_work_tree_are_the_systems(tmp_path: Path) -> None:
    backend = ScriptedBackend()
    sandboxes = Sandboxes(SandboxSpec(), backend, tmp_path / "data")
    async with sandboxes.open_workspace(
        checkout(tmp_path, RECIPE.with_(prepare=("make gen",)))
    ) as workspace:
        await workspace.facts()
        await workspace.revert()
    await sandboxes.close()
    guest = backend.guests[0]
    ran = zip(guest.commands, guest.environments, strict=True)
    ours = {
        command[-3]: env.get("PATH") for command, env in ran if command[-1] == "/work/@prepared"
    }
    assert len(guest.commands) > len(ours)
    assert set(ours.values()) == {SYSTEM_PATH}


@pytest.mark.anyio
@pytest.mark.parametrize("present", [True, False], ids=["node", "no node"])
async def test_only_a_sandbox_without_node_is_said_to_have_none(
    tmp_path: Path,
    present: bool,  # noqa: FBT001
) -> None:
    def script(argv: tuple[str, ...]) -> CommandResult | None:
        asked = argv[-1] == "command -v node"
        return CommandResult(argv=argv, exit_code=0 if present else 127) if asked else None

    folder = tmp_path / "project"
    folder.mkdir()
    source = FolderSource(path=str(folder))
    sandboxes = Sandboxes(SandboxSpec(), ScriptedBackend(script), tmp_path / "data")
    workflow = folder / ".github" / "workflows" / "ci.yml"
    workflow.parent.mkdir(parents=True)
    recipes = []
    for command in ("npm test", "npx --yes tsc"):
        job = {"runs-on": "ubuntu-latest", "steps": [{"run": command}]}
        workflow.write_text(json.dumps({"on": "push", "jobs": {"check": job}}))
        asked = Checkout(source=source, hints=JobHints(job_name="check"), tier=TrustTier.LOCAL)
        async with sandboxes.open_workspace(asked) as workspace:
            recipes.append((await workspace.facts()).recipe)
    await sandboxes.close()
    tested, checked = recipes
    for recipe in recipes:
        assert (
            any("the sandbox has no Node.js" in entry.reason for entry in recipe.fidelity)
            is not present
        )
        assert (
            any("which the sandbox does not have" in text for text in recipe.obstacles)
            is not present
        )
    assert (tested.command, checked.command) == ("npm test", "npx --yes tsc")
    assert bool(tested.obstacles or checked.obstacles) is not present


@pytest.mark.anyio
async def test_what_set_up_commands_made_is_kept_for_one_tree_of_one_fork(tmp_path: Path) -> None:
    backend = ScriptedBackend()
    sandboxes = Sandboxes(SandboxSpec(), backend, tmp_path / "data")
    first = checkout(tmp_path, RECIPE.with_(setup=("sh deps.sh",))).with_(
        tier=TrustTier.FORK, head_repository_id="mallory"
    )

    async def facts(wanted: Checkout) -> tuple[str, bool]:
        async with sandboxes.open_workspace(wanted) as workspace:
            found = await workspace.facts()
        return found.environment_key, found.warm

    opened = [
        await facts(first),
        await facts(first),
        await facts(first.with_(head_repository_id="bob")),
    ]
    (tmp_path / "project/deps.sh").write_text("echo planted")
    opened.append(await facts(first))
    await sandboxes.close()
    assert [warm for _, warm in opened] == [False, True, False, False]
    assert len({key for key, _ in opened}) == 3


LOCKED = {"package.json": '{"name": "web"}', "package-lock.json": '{"packages": {}}'}


class NodeProject:
    """A repository whose job installs Node.js packages, and a backend where npm fails.

    Args:
        folder: Where it is.
        earlier: The step before the check.
        check: The failing command.
        failing: The end of the command that fails.
    """

    def __init__(self, folder: Path, *, earlier: str, check: str, failing: str) -> None:
        self.failing = failing
        self.backend = ScriptedBackend(self.script)
        self.sandboxes = Sandboxes(SandboxSpec(), self.backend, folder / "data")
        project = folder / "project"
        workflow = project / ".github/workflows/ci.yml"
        workflow.parent.mkdir(parents=True)
        for name, text in LOCKED.items():
            (project / name).write_text(text)
        steps = [{"run": earlier}, {"run": check}]
        workflow.write_text(
            json.dumps({"on": "push", "jobs": {"c": {"runs-on": "x", "steps": steps}}})
        )
        hints = JobHints(job_name="c", step_name=f"Run {check}")
        source = FolderSource(path=str(project))
        self.checkout = Checkout(source=source, hints=hints, tier=TrustTier.LOCAL)

    def script(self, argv: tuple[str, ...]) -> CommandResult | None:
        line = " ".join(argv)
        if line.endswith(self.failing):
            return CommandResult(argv=argv, exit_code=1, stderr="npm error code EUSAGE")
        if line.endswith("config get registry"):
            return CommandResult(argv=argv, exit_code=0, stdout="https://registry.example/\n")
        return None

    async def recipe(self) -> Recipe:
        async with self.sandboxes.open_workspace(self.checkout) as workspace:
            return (await workspace.facts()).recipe

    def tried(self) -> int:
        """Count the runs of the failing command."""
        guests = (*self.backend.setups, *self.backend.guests)
        ran = (" ".join(argv) for guest in guests for argv in guest.commands)
        return sum(line.endswith(self.failing) for line in ran)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("earlier", "failing"),
    [("npm ci", " ci"), ("npm ci", "npm@10"), ("npm ci && npm run build", "npm run build")],
    ids=["packages", "runtime", "build"],
)
async def test_tests_of_python_run_without_node_packages_that_cannot_be_set_up(
    tmp_path: Path, earlier: str, failing: str
) -> None:
    project = NodeProject(tmp_path, earlier=earlier, check="pytest", failing=failing)
    first = await project.recipe()
    assert project.tried() == 1
    assert await project.recipe() == first, "all sandboxes of a mission are alike"
    assert project.tried() == 1, "it is not tried again"
    assert project.backend.open_now == 0
    await project.sandboxes.close()
    assert first.command == "python -m pytest"
    assert (first.node, first.prepare) == (None, ())
    dropped = {entry.step: entry.reason for entry in first.fidelity if entry.treatment == "dropped"}
    for step in earlier.split(" && "):
        assert dropped[step].startswith("Node.js packages are missing: ")
    assert any("Node.js packages are missing" in text for text in first.obstacles)


@pytest.mark.anyio
async def test_a_check_of_node_packages_does_not_run_without_them(tmp_path: Path) -> None:
    project = NodeProject(tmp_path, earlier="npm ci", check="npx vitest run", failing=" ci")
    with pytest.raises(SetupFailed, match="npm ci"):
        await project.recipe()
    await project.sandboxes.close()


@pytest.mark.anyio
async def test_an_error_of_python_is_not_taken_for_one_of_node(tmp_path: Path) -> None:
    project = NodeProject(tmp_path, earlier="npm ci", check="pytest", failing="nothing")
    script = project.script

    def fails(argv: tuple[str, ...]) -> CommandResult | None:
        is_python = "install" in argv and "--only-binary" in argv and "-r" in argv
        return CommandResult(argv=argv, exit_code=1) if is_python else script(argv)

    project.backend = ScriptedBackend(fails)
    project.sandboxes = Sandboxes(SandboxSpec(), project.backend, tmp_path / "data")
    with pytest.raises(SetupFailed, match="requirements"):
        await project.recipe()
    await project.sandboxes.close()


@pytest.mark.anyio
async def test_a_recipe_is_planned_again_when_files_or_hints_change(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    file = tmp_path / "project/requirements.txt"
    file.write_text("attrs==23.1.0\n")
    source = FolderSource(path=str(tmp_path / "project"))
    sandboxes = Sandboxes(SandboxSpec(), ScriptedBackend(), tmp_path / "data")

    async def planned(command: str) -> Recipe:
        hints = JobHints(command=command)
        async with sandboxes.open_workspace(Checkout(source=source, hints=hints)) as workspace:
            return (await workspace.facts()).recipe

    first = await planned("pytest")
    assert await planned("pytest") == first
    file.write_text("attrs==23.2.0\n")
    second = await planned("pytest")
    third = await planned("pytest -x")
    await sandboxes.close()
    assert [
        r.parts[0].requirements[0] for r in (first, second) if isinstance(r.parts[0], PythonPart)
    ] == [
        "attrs==23.1.0",
        "attrs==23.2.0",
    ]
    assert third.command == "pytest -x"


class LoopProject:
    """A repository whose group for tests lists two packages that cannot be built.

    Args:
        folder: Where it is.
        most: The most that may be left out.
        blamed: The package that the build blames first.
    """

    def __init__(self, folder: Path, *, most: int = 3, blamed: str = "rsloop") -> None:
        self.blamed = blamed
        self.backend = ScriptedBackend(self.script)
        self.sandboxes = Sandboxes(SandboxSpec(left_out_most=most), self.backend, folder / "data")
        project = folder / "project"
        project.mkdir()
        (project / "pyproject.toml").write_text(
            '[project]\nname = "demo"\ndependencies = ["attrs"]\n'
            '[dependency-groups]\ntest = ["pytest", "rsloop", "other"]\n'
        )
        (project / "test_m.py").write_text("")
        source = FolderSource(path=str(project))
        hints = JobHints(command="pytest")
        self.checkout = Checkout(source=source, hints=hints, tier=TrustTier.LOCAL)

    def script(self, argv: tuple[str, ...]) -> CommandResult | None:
        line = " ".join(argv)
        wanted = self.wanted()
        if "--only-binary" in line and self.blamed in wanted:
            return CommandResult(argv=argv, exit_code=1, stderr="x has no usable wheels")
        if "fetch_sdists" in line:
            said = json.dumps({"sources": [f"{self.blamed}==1"]}).encode()
            return CommandResult(argv=argv, exit_code=0, results=said)
        if "build_sdists" in line:
            answer = {"package": self.blamed, "reason": "it could not be built from source"}
            said = json.dumps({**answer, "requested": [self.blamed]}).encode()
            if self.blamed == "rsloop":
                self.blamed = "other"
            return CommandResult(argv=argv, exit_code=1, results=said)
        return None

    def wanted(self) -> list[str]:
        """Return the requirements of the current set-up."""
        files = self.backend.setups[-1].unpacked.get("/work/setup", {})
        return files.get("requirements.txt", b"").decode().splitlines()

    async def recipe(self) -> Recipe:
        async with self.sandboxes.open_workspace(self.checkout) as workspace:
            return (await workspace.facts()).recipe


@pytest.mark.anyio
async def test_requirements_of_tests_that_cannot_be_built_are_left_out_and_named(
    tmp_path: Path,
) -> None:
    project = LoopProject(tmp_path)
    first = await project.recipe()
    assert first.python.left_out == ("rsloop", "other")
    assert set(first.python.requirements) == {"attrs", "pytest", "ruff"}
    assert set(project.wanted()) == {"attrs", "pytest", "ruff"}
    assert len(project.backend.setups) == 3, "one further set-up for each"
    assert await project.recipe() == first, "all sandboxes of a mission are alike"
    assert len(project.backend.setups) == 3, "nothing is tried again"
    await project.sandboxes.close()
    dropped = [entry for entry in first.fidelity if entry.treatment == "dropped"]
    assert [entry.step for entry in dropped] == ["install rsloop", "install other"]
    assert "it could not be built from source" in dropped[0].reason
    assert any("the requirement rsloop" in text for text in first.obstacles)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("most", "blamed", "setups"), [(1, "rsloop", 2), (0, "rsloop", 1), (3, "attrs", 1)]
)
async def test_a_set_up_ends_if_more_or_something_else_is_to_be_left_out(
    tmp_path: Path, most: int, blamed: str, setups: int
) -> None:
    project = LoopProject(tmp_path, most=most, blamed=blamed)
    with pytest.raises(SetupFailed, match="it could not be built from source"):
        await project.recipe()
    assert len(project.backend.setups) == setups
    await project.sandboxes.close()


@pytest.mark.anyio
async def test_a_checkout_is_opened_in_a_folder_of_its_name_and_shares_its_environment(
    tmp_path: Path,
) -> None:
    backend = ScriptedBackend()
    sandboxes = Sandboxes(SandboxSpec(), backend, tmp_path / "data")
    opened = checkout(tmp_path)
    keys = []
    for asked in (
        opened,
        opened.with_(name="shop"),
        opened.with_(name="a/b", surroundings=CHANGED),
    ):
        async with sandboxes.open_workspace(asked) as workspace:
            keys.append((await workspace.facts()).environment_key)
    await sandboxes.close()
    assert [guest.workdir for guest in backend.guests] == [
        "/work/repo",
        "/work/shop",
        CHANGED.workdir,
    ]
    assert len(set(keys)) == 1
    assert [guest.workdir for guest in backend.setups] == ["/work/repo"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "recipe",
    [
        RECIPE.with_(setup=("pip install -e .",)),
        RECIPE.with_(command="pytest --rootdir=/work/repo"),
    ],
)
async def test_what_names_the_usual_path_finds_the_checkout_there(
    tmp_path: Path, recipe: Recipe
) -> None:
    backend = ScriptedBackend()
    sandboxes = Sandboxes(SandboxSpec(), backend, tmp_path / "data")
    asked = checkout(tmp_path, recipe).with_(name="shop")
    async with sandboxes.open_workspace(asked) as workspace:
        await workspace.facts()
    await sandboxes.close()
    assert [guest.workdir for guest in backend.guests] == ["/work/repo"]


@pytest.mark.anyio
async def test_an_errand_runs_in_a_folder_of_the_same_name(tmp_path: Path) -> None:
    backend = ScriptedBackend()
    sandboxes = Sandboxes(SandboxSpec(), backend, tmp_path / "data")
    async with sandboxes.open_workspace(checkout(tmp_path).with_(name="shop")) as workspace:
        await workspace.send(Errand(command="true", task="", wall_s=5), cast(Door, None))
    await sandboxes.close()
    assert [guest.workdir for guest in backend.guests] == ["/work/shop", "/work/shop"]
