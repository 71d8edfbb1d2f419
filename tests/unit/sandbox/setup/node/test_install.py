"""Node.js: nothing of others runs before the network is cut, and npm obeys no file but a lock."""

import json

import pytest

from sandbox.errors import SetupFailed
from sandbox.setup.node.layout import Manager
from sandbox.setup.node.programs import SCAN
from sandbox.setup.node.runtime import choose_npm, find_nearest, package_name
from sandbox.snapshot import Environment, EnvironmentOrigin, Snapshotter
from sandbox.spec import SandboxSpec
from sandbox.types import AddedPackage, CommandResult, NodePart, PythonPart, Recipe, TrustTier
from tests.fakes.scripted_backend import ScriptedBackend

MINE = EnvironmentOrigin(repository_id="1", tier=TrustTier.BRANCH)
OTHER = EnvironmentOrigin(repository_id="2", tier=TrustTier.FORK)
NODE = NodePart(version="22", folders=("web",))
REACT = AddedPackage(package="react@18")
RECIPE = Recipe(command="npm test", parts=(PythonPart(requirements=("pytest",)), NODE))
FILES = {"node/web/package.json": "{}", "node/web/package-lock.json": '{"packages": {}}'}
SCANNED = """["@b/c@2.0.0", ["install"], "/opt/env/node/tree/web/node_modules/@b/c"]
["--evil@1", ["install"], "/x"]
["x y@1", ["install"], "/x"]
[
"""


class World:
    """A backend whose npm works, and the order of what happened in it."""

    def __init__(
        self,
        *failing: str,
        error: str = "npm error code EUSAGE",
        registry: str = "https://registry.example/",
        scanned: str = "",
    ) -> None:
        self.error = error
        self.scanned = scanned
        self.backend = ScriptedBackend(self.script)
        self.registry = registry
        self.failing = failing
        self.seen: list[str] = []

    def script(self, argv: tuple[str, ...]) -> CommandResult | None:
        line = " ".join(argv)
        for word in (
            " ci",
            "run install",
            "patch-package",
            "--only-binary :all: -r",
            "pip install",
            "npm@",
        ):
            if word in line:
                cut = " cut off" if self.backend.setups[-1] in self.backend.ended else ""
                self.seen.append(f"{word.split()[0]}{cut}")
                break
        if any(word in line for word in self.failing):
            return CommandResult(argv=argv, exit_code=1, stderr=self.error)
        if SCAN in argv:
            return CommandResult(argv=argv, exit_code=0, stdout=self.scanned)
        if line.endswith("versions --json"):
            return CommandResult(argv=argv, exit_code=0, stdout='["20.1.0", "22.3.0", "22.9.1"]')
        if line.endswith("config get registry"):
            return CommandResult(argv=argv, exit_code=0, stdout=f"{self.registry}\n")
        return None

    async def ensure(
        self,
        recipe: Recipe = RECIPE,
        origin: EnvironmentOrigin = MINE,
        files: dict[str, str] = FILES,
    ) -> Environment:
        snapshotter = Snapshotter(self.backend, SandboxSpec())
        return await snapshotter.ensure(recipe, origin, files=files)


@pytest.mark.anyio
async def test_node_is_fetched_once_and_packages_before_those_of_python() -> None:
    world = World()
    made = await world.ensure()
    assert [word for word in world.seen if word != "pip"] == ["npm@", "ci"]
    runtime, packages = world.backend.setups
    assert world.backend.ended == [runtime, packages]
    assert set(world.backend.allowed) == {"https://registry.example/"}
    lines = [" ".join(command) for command in packages.commands]
    npm = next(number for number, line in enumerate(lines) if line.endswith(" ci"))
    assert npm < next(number for number, line in enumerate(lines) if "uv pip install" in line)
    assert (await world.ensure(origin=OTHER)).key == made.key


@pytest.mark.anyio
async def test_a_project_without_packages_gets_the_programs_of_node() -> None:
    world = World()
    made = await world.ensure(RECIPE.with_(parts=(PythonPart(), NodePart(version="22"))), files={})
    runtime, own = world.backend.setups
    assert not any("bin/node" in word for word in runtime.commands[-1])
    links = "ln -sfn ../node/runtime/node_modules"
    assert any(links in " ".join(command) for command in own.commands)
    assert made.image != ""


@pytest.mark.anyio
async def test_npm_gets_no_configuration_of_anybody_and_runs_no_script() -> None:
    world = World()
    await world.ensure()
    packages = world.backend.setups[-1]
    ran = zip(packages.commands, packages.environments, strict=True)
    env = next(env for command, env in ran if command[-1] == "ci")
    assert env["npm_config_ignore_scripts"] == "true"
    assert env["npm_config_userconfig"] != env["npm_config_globalconfig"]
    assert set(packages.unpacked["/opt/env/node/tree"]) == {
        "web/package.json",
        "web/package-lock.json",
    }


@pytest.mark.anyio
async def test_packages_apart_from_the_project_are_installed_without_scripts() -> None:
    world = World()
    node = NodePart(version="22", tools=("prettier@3.8.1", "@biomejs/biome"))
    await world.ensure(RECIPE.with_(parts=(PythonPart(), node)), files={})
    own = world.backend.setups[-1]
    ran = zip(own.commands, own.environments, strict=True)
    command, env = next((one, env) for one, env in ran if "--global" in one)
    place = ("--prefix", "/opt/env/node/tools")
    assert command[-6:] == ("install", "--global", *place, "prettier@3.8.1", "@biomejs/biome")
    assert env["npm_config_ignore_scripts"] == "true"


@pytest.mark.anyio
async def test_install_scripts_run_when_nothing_can_be_reached_and_are_not_shared() -> None:
    world = World("run install", scanned=SCANNED)
    made = await world.ensure()
    assert world.seen.count("run cut off") == 1
    (note,) = made.notes
    assert note.reason == "install scripts ran without network: @b/c@2.0.0"
    assert not (await world.ensure(origin=OTHER)).warm


@pytest.mark.anyio
async def test_patches_are_applied_when_nothing_can_be_reached() -> None:
    world, files = World(), FILES | {"node/web/patches/a+1.0.0.patch": "--- a"}
    await world.ensure(files=files)
    assert world.seen.count("patch-package cut off") == 1
    # `patch-package` may be another package by this name.
    assert not (await world.ensure(origin=OTHER, files=files)).warm


@pytest.mark.anyio
async def test_patches_of_other_tools_run_nothing() -> None:
    world, files = World("test -f"), FILES | {"node/web/patches/a+1.0.0.patch": "--- a"}
    await world.ensure(files=files)
    assert "patch-package cut off" not in world.seen
    assert (await world.ensure(origin=OTHER, files=files)).warm


@pytest.mark.anyio
async def test_a_lock_that_does_not_match_is_said_with_its_output() -> None:
    with pytest.raises(SetupFailed, match="packages of web with `npm ci`") as caught:
        await World(" ci").ensure()
    assert "EUSAGE" in caught.value.log


@pytest.mark.anyio
@pytest.mark.parametrize(
    "dependency", ["git+ssh://git@host/x.git", "github:a/b", "https://host/x-1.0.0.tgz"]
)
async def test_a_dependency_outside_the_registry_is_named_as_a_cause(dependency: str) -> None:
    package = json.dumps({"dependencies": {"x": dependency}})
    with pytest.raises(SetupFailed, match="only the registry is reached"):
        await World(" ci").ensure(files=FILES | {"node/web/package.json": package})


@pytest.mark.parametrize(
    ("world", "said"),
    [
        (World("nodejs"), "could not fetch npm"),
        (World("npm@"), "could not fetch Node.js 22"),
        (World(registry="http://registry.example/"), "names no registry"),
        (World(registry="undefined"), "names no registry"),
    ],
)
@pytest.mark.anyio
async def test_a_node_that_cannot_be_had_is_said(world: World, said: str) -> None:
    with pytest.raises(SetupFailed, match=said):
        await world.ensure()


@pytest.mark.anyio
async def test_a_manager_that_the_registry_lacks_is_replaced_by_the_next_patch_release() -> None:
    asked = "@yarnpkg/cli-dist@4.10.0"
    node = NODE.with_(manager="yarn", manager_version="4.10.0")
    world = World(asked, error=f"npm error notarget No matching version found for {asked}.\n")
    await world.ensure(RECIPE.with_part(node), files={"node/web/package.json": "{}"})
    ran = [command[-1] for command in world.backend.setups[0].commands]
    assert [word for word in ran if "cli-dist" in word] == [asked, "@yarnpkg/cli-dist@~4.10.0"]
    with pytest.raises(SetupFailed, match=r"could not fetch Node\.js 22"):
        await World("npm@").ensure(RECIPE.with_part(node))


@pytest.mark.anyio
async def test_a_node_that_the_registry_lacks_is_replaced_by_the_nearest() -> None:
    world = World("@22.4.0", error=f"No matching version found for {package_name()}@22.4.0.\n")
    recipe = RECIPE.with_part(NODE.with_(version="22.4.0"))
    snapshotter = Snapshotter(world.backend, SandboxSpec())
    made = await snapshotter.ensure(recipe, MINE, files=FILES)
    (note,) = made.notes
    assert note.reason == "Node.js 22.4.0 is not in the package index; 22.9.1 is used"
    fetched = [word for command in world.backend.setups[1].commands for word in command]
    assert f"{package_name()}@22.9.1" in fetched
    count = len(world.backend.setups)
    assert (await snapshotter.ensure(recipe, MINE, files=FILES)).notes == made.notes
    assert len(world.backend.setups) == count
    # A registry that lists what it does not have is an error.
    world = World("@22.3.0", error=f"No matching version found for {package_name()}@22.3.0.\n")
    with pytest.raises(SetupFailed, match=r"could not fetch Node\.js 22\.3\.0"):
        await world.ensure(RECIPE.with_part(NODE.with_(version="22.3.0")))


@pytest.mark.parametrize(
    ("wanted", "nearest"),
    [
        ("20.11.1", "20.11.3"),
        ("20.11.9", "20.11.3"),
        ("20.12", "20.13.0"),
        ("20.99.1", "20.13.0"),
        ("27", "22.1.0"),
        ("21", "20.13.0"),
        ("4", "20.11.0"),
    ],
)
def test_the_nearest_version_is_of_the_same_minor_or_major_one(wanted: str, nearest: str) -> None:
    listed = json.dumps(["20.11.0", "20.11.3", "20.13.0", "22.1.0", "23.0.0-rc.1"])
    assert find_nearest(wanted, listed) == nearest
    assert find_nearest(wanted, "[]") == ""


@pytest.mark.anyio
async def test_the_operators_registry_is_used_without_asking() -> None:
    world = World(registry="undefined")
    spec = SandboxSpec(npm_registry="http://registry.internal:4873")
    await Snapshotter(world.backend, spec).ensure(RECIPE, MINE, files=FILES)
    environments = world.backend.setups[-1].environments
    assert any(
        env.get("npm_config_registry") == "http://registry.internal:4873" for env in environments
    )
    assert world.backend.allowed == ()


@pytest.mark.anyio
async def test_everything_of_the_part_is_in_the_key() -> None:
    world = World()
    parts = (
        NODE,
        NODE.with_(version="20"),
        NODE.with_(manager_version="10.8.2"),
        NODE.with_(legacy_peers=True),
        NODE.with_(frozen=False),
        NODE.with_(force=True),
        NODE.with_(added=(REACT,)),
    )
    keys = {(await world.ensure(RECIPE.with_part(part))).key for part in parts}
    keys.add((await world.ensure(RECIPE.with_(parts=RECIPE.parts[:1]))).key)
    assert len(keys) == 8


@pytest.mark.parametrize(
    ("node", "npm"),
    [
        (NodePart(), "10"),
        (NodePart(version="24.1"), "11"),
        (NodePart(version="16"), "8"),
        (NodePart(version="12"), "6"),
        (NodePart(version="22", manager_version="10.8.2"), "10.8.2"),
    ],
)
def test_npm_runs_on_its_node(node: NodePart, npm: str) -> None:
    assert choose_npm(node) == npm


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["package.json", "yarn.lock"])
@pytest.mark.parametrize(
    "dependency",
    ["a@exec:./x.patch", "patch:a@exec%3A./x.patch#y", "patch:a%40%65x%2565c%253a./x.patch#y"],
)
async def test_a_dependency_that_runs_code_while_it_is_fetched_is_refused(
    name: str, dependency: str
) -> None:
    world = World()
    files = {"node/package.json": "{}", "node/yarn.lock": "", f"node/{name}": f'"{dependency}"'}
    node = NodePart(version="22", manager="yarn", manager_version="4", folders=(".",))
    recipe = Recipe(command="npx vitest", parts=(PythonPart(), node))
    with pytest.raises(SetupFailed, match="exec:"):
        await world.ensure(recipe, files=files)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("error", "tries"),
    [
        ("Client network socket disconnected before secure TLS connection", 3),
        ("Error: The `onCancel` handler was attached after the promise settled.", 3),
        ("YN0028: The lockfile would have been modified by this install", 1),
    ],
)
async def test_an_installation_that_lost_its_connection_is_tried_again(
    error: str, tries: int
) -> None:
    world = World("yarn.js", error=error)
    node = NodePart(version="22", manager="yarn", manager_version="4.0.0", folders=(".",))
    with pytest.raises(SetupFailed, match="yarn install"):
        await world.ensure(RECIPE.with_part(node), files={"node/package.json": "{}"})
    lines = [" ".join(command) for command in world.backend.setups[-1].commands]
    assert len([line for line in lines if "yarn.js" in line]) == tries


@pytest.mark.anyio
@pytest.mark.parametrize("manager", ["pnpm", "yarn", "bun"])
async def test_every_manager_installs_before_the_network_is_cut(manager: Manager) -> None:
    world = World()
    node = NodePart(version="22", manager=manager, manager_version="4.0.0", folders=(".",))
    recipe = Recipe(command="npx vitest", parts=(PythonPart(), node))
    await world.ensure(recipe, files={"node/package.json": "{}"})
    packages = world.backend.setups[-1]
    installs = [" ".join(command) for command in packages.commands if "install" in command]
    assert any(f"/{manager}" in line or "yarn.js" in line for line in installs)
    temporary = {env["TMPDIR"] for env in packages.environments if "TMPDIR" in env}
    assert temporary == {"/opt/env/node/cache/unpacked"}  # on disk, and removed with the cache
    assert ("mkdir", "-p", *temporary) in packages.commands
    assert packages in world.backend.ended


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (NODE, "npm-cli.js ci"),
        (NODE.with_(legacy_peers=True), "ci --legacy-peer-deps"),
        (NODE.with_(frozen=False, force=True), "npm-cli.js install --force"),
        (NODE.with_(locked=False), "install --no-package-lock"),
    ],
)
async def test_npm_installs_as_the_job_does(node: NodePart, expected: str) -> None:
    world = World()
    await world.ensure(RECIPE.with_part(node))
    lines = [" ".join(command) for command in world.backend.setups[-1].commands]
    assert any(line.endswith(expected) for line in lines)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("manager", "expected"),
    [
        ("npm", "npm-cli.js install --no-save react@18"),
        ("pnpm", "--ignore-workspace-root-check react@18"),
        ("yarn", "--ignore-workspace-root-check react@18"),
        ("bun", "react@18"),
    ],
)
async def test_packages_that_the_job_adds_come_after_the_locked_ones(
    manager: Manager, expected: str
) -> None:
    world = World()
    node = NodePart(version="22", manager=manager, folders=(".",), added=(REACT,))
    await world.ensure(RECIPE.with_part(node), files={"node/package.json": "{}"})
    lines = [" ".join(command) for command in world.backend.setups[-1].commands]
    (added,) = (number for number, line in enumerate(lines) if line.endswith("react@18"))
    assert lines[added].endswith(expected)
    assert manager == "npm" or "--ignore-scripts" in lines[added]
    locked = " ci" if manager == "npm" else " install --frozen-lockfile"
    assert any(locked in line for line in lines[:added])


@pytest.mark.anyio
@pytest.mark.parametrize(("folder", "installed"), [("a", 1), ("b", 2)])
async def test_packages_are_added_in_one_folder(folder: str, installed: int) -> None:
    world = World()
    node = NodePart(version="22", folders=("a", "b"), added=(REACT.with_(folder=folder),))
    await world.ensure(RECIPE.with_part(node), files={"node/a/package.json": "{}"})
    lines = [" ".join(command) for command in world.backend.setups[-1].commands]
    (added,) = (number for number, line in enumerate(lines) if line.endswith("react@18"))
    assert sum("npm-cli.js ci" in line for line in lines[:added]) == installed
    assert sum("npm-cli.js ci" in line for line in lines) == 2
