"""A manager writes its lock file in a set-up sandbox: without scripts, and nothing else comes out."""

import json
from typing import Literal

import pytest

from sandbox.errors import SetupFailed
from sandbox.setup.node.layout import LOCK_FILES, Manager
from sandbox.setup.node.relock import WrittenLock
from sandbox.snapshot import EnvironmentOrigin, Snapshotter
from sandbox.spec import SandboxSpec
from sandbox.types import CommandResult, FileEdit, NodePart, Recipe, TrustTier
from tests.fakes.scripted_backend import ScriptedBackend, ScriptedGuest

pytestmark = pytest.mark.anyio
MINE = EnvironmentOrigin(repository_id="1", tier=TrustTier.BRANCH)
OLD = '{\n  "name": "web",\n  "packages": {}\n}\n'
NEW = '{\n  "name": "repo",\n  "packages": {"node_modules/ms": {"version": "2.1.3"}}\n}\n'
FOREIGN = NEW.replace('"version"', '"resolved": "https://evil.example/ms.tgz", "version"')
PACKAGE = '{"name": "app", "dependencies": {"ms": "2.1.3"}}'


class World:
    """A backend whose package managers write a lock file.

    Args:
        edits: What changes in the work folder.
        node: The recipe's Node part.
        failing: The end of a command that fails.
    """

    def __init__(self, *edits: FileEdit, node: NodePart, failing: str = "nothing") -> None:
        self.node = node
        self.failing = failing
        self.backend = ScriptedBackend(self.script)
        self.backend.edits = edits

    def script(self, argv: tuple[str, ...]) -> CommandResult | None:
        line = " ".join(argv)
        if line.endswith(self.failing):
            return CommandResult(argv=argv, exit_code=1, stderr="npm error code ERESOLVE")
        said = {"registry": "https://registry.example\n", "--version": "9.9.9\n"}
        return CommandResult(argv=argv, exit_code=0, stdout=said.get(argv[-1], ""))

    async def write(self, package: str = PACKAGE, old: str = OLD) -> WrittenLock:
        name = LOCK_FILES[self.node.manager][-1]
        files = {"node/web/package.json": package, f"node/web/{name}": old}
        recipe = Recipe(command="npm test", parts=(self.node,))
        snapshotter = Snapshotter(self.backend, SandboxSpec())
        return await snapshotter.write_lock(recipe, MINE, files, "web")

    @property
    def guest(self) -> ScriptedGuest:
        return self.backend.setups[-1]


def an_edit(
    content: str = NEW,
    path: str = "web/package-lock.json",
    mode: Literal["100644", "100755", "deleted"] = "100644",
) -> FileEdit:
    return FileEdit(path=path, mode=mode, content=content.encode())


@pytest.mark.parametrize(
    ("manager", "version", "asked"),
    [
        ("npm", "10.9.2", "install --package-lock-only"),
        ("pnpm", "10.1.0", "--lockfile-only"),
        ("yarn", "1.22.22", "--modules-folder=/opt/env/node/cache/modules"),
        ("yarn", "4.4.1", "--mode=update-lockfile"),
        ("bun", "1.3.14", "--lockfile-only"),
    ],
)
async def test_each_manager_writes_its_lock_file_without_scripts(
    manager: Manager, version: str, asked: str
) -> None:
    name = LOCK_FILES[manager][-1]
    node = NodePart(manager=manager, manager_version=version, folders=("web",))
    world = World(an_edit(path=f"web/{name}"), node=node)
    written = await world.write()
    assert (written.path, written.content) == (f"web/{name}", NEW)
    assert written.program == f"{manager} 9.9.9"
    ran = zip(world.guest.commands, world.guest.environments, strict=True)
    ((line, env),) = [(" ".join(argv), env) for argv, env in ran if asked in " ".join(argv)]
    assert "--frozen-lockfile" not in line
    assert "--immutable" not in line
    assert env["npm_config_ignore_scripts"] == "true"
    assert manager == "npm" or "--ignore-scripts" in line or env["YARN_ENABLE_SCRIPTS"] == "0"
    assert world.backend.environments, "the runtime alone is kept"
    assert len(world.backend.environments) == 1


async def test_a_package_without_a_name_keeps_the_old_one_of_its_lock_file() -> None:
    world = World(an_edit(), node=NodePart(folders=("web",)))
    written = await world.write('{"dependencies": {"ms": "2.1.3"}}')
    assert json.loads(written.content)["name"] == "web"


async def test_a_lock_file_keeps_its_line_ends() -> None:
    world = World(an_edit(), node=NodePart(folders=("web",)))
    written = await world.write(old=OLD.replace("\n", "\r\n"))
    assert written.content == NEW.replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("edits", "failing", "words"),
    [
        ((), "nothing", "leaves web/package-lock.json as it is"),
        ((an_edit(OLD),), "nothing", "leaves web/package-lock.json as it is"),
        ((an_edit(), an_edit("{}", "web/package.json")), "nothing", "changes web/package.json"),
        ((an_edit(path="package-lock.json"),), "nothing", "changes package-lock.json"),
        ((an_edit(mode="100755"),), "nothing", "as it is"),
        ((an_edit(mode="deleted"),), "nothing", "as it is"),
        ((an_edit(FOREIGN),), "nothing", "would name https://evil.example/ms.tgz"),
        ((an_edit(),), "--package-lock-only", "could not write web/package-lock.json"),
    ],
    ids=["none", "same", "declarations", "other folder", "mode", "deleted", "foreign", "conflict"],
)
async def test_nothing_but_a_plain_lock_file_is_taken(
    edits: tuple[FileEdit, ...], failing: str, words: str
) -> None:
    world = World(*edits, node=NodePart(folders=("web",)), failing=failing)
    with pytest.raises(SetupFailed, match=words):
        await world.write()
    assert world.backend.open_now == 0


async def test_a_refusal_without_a_lock_file_is_an_ordinary_failure() -> None:
    """The name of a package may look like one: `YN0028`."""
    world = World(an_edit(), node=NodePart(manager="pnpm", folders=("web",)))
    recipe = Recipe(command="npm test", parts=(world.node,))
    snapshotter = Snapshotter(world.backend, SandboxSpec())
    with pytest.raises(SetupFailed, match=r"there is no web/pnpm-lock\.yaml"):
        await snapshotter.write_lock(recipe, MINE, {"node/web/package.json": PACKAGE}, "web")


async def test_a_lock_file_with_packages_of_another_registry_is_left_to_people() -> None:
    """A private package may have a namesake of an attacker in the public registry."""
    world = World(an_edit(), node=NodePart(folders=("web",)))
    with pytest.raises(SetupFailed, match="has packages from https://evil"):
        await world.write(old=FOREIGN)
    assert not any("--package-lock-only" in argv for argv in world.guest.commands)
