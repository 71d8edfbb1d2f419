"""How pnpm, yarn and bun install a lock file: nothing of others runs, and nothing is changed."""

import pytest

from sandbox.setup.node.layout import Manager
from sandbox.setup.node.managers import find_program, install_command, part_of_folder
from sandbox.types import NodePart

REGISTRY = "https://registry.example/"


@pytest.mark.parametrize(
    ("node", "package", "words"),
    [
        (NodePart(manager="pnpm", manager_version="9.1.0"), "pnpm@9.1.0", "--ignore-scripts"),
        (NodePart(manager="pnpm"), "pnpm@10", "--frozen-lockfile"),
        (NodePart(manager="yarn", manager_version="1"), "yarn@1", "--ignore-scripts"),
        (NodePart(manager="yarn"), "yarn@1", "--frozen-lockfile"),
        (NodePart(manager="yarn", manager_version="4.4.1"), "@yarnpkg/cli-dist@4.4.1", "--immut"),
        (NodePart(manager="bun", manager_version="1.3.20"), "@1.3.20", "--ignore-scripts"),
    ],
)
def test_a_manager_installs_what_is_locked_without_scripts(
    node: NodePart, package: str, words: str
) -> None:
    command = install_command(node, "/opt/env/node/cache", REGISTRY)
    said = " ".join((*command.arguments, *map("=".join, command.environment.items())))
    assert find_program(node).package.endswith(package)
    assert words in said
    assert REGISTRY.rstrip("/") in said
    assert "--ignore-scripts" in said or "YARN_ENABLE_SCRIPTS=0" in said


def test_yarn_waits_for_a_download_as_long_as_npm() -> None:
    classic, berry = (
        install_command(NodePart(manager="yarn", manager_version=version), "/cache", REGISTRY)
        for version in ("1", "4.4.1")
    )
    assert "--network-timeout=300000" in classic.arguments
    assert berry.environment["YARN_HTTP_TIMEOUT"] == "300000"
    assert berry.environment["YARN_NETWORK_CONCURRENCY"] == "8"


@pytest.mark.parametrize("manager", ["pnpm", "yarn", "bun"])
@pytest.mark.parametrize("version", ["1.0.0", "9.0.0"])
def test_a_lock_file_may_be_older_than_the_dependencies(manager: Manager, version: str) -> None:
    node = NodePart(manager=manager, manager_version=version, frozen=False)
    command = install_command(node, "/opt/env/node/cache", REGISTRY)
    assert {"--frozen-lockfile", "--immutable"}.isdisjoint(command.arguments)
    assert ("--no-frozen-lockfile" in command.arguments) is (manager == "pnpm")
    assert command.environment["YARN_ENABLE_IMMUTABLE_INSTALLS"] == "false"


def test_npm_needs_no_other_program() -> None:
    assert find_program(NodePart()).package == ""


@pytest.mark.parametrize(
    ("manager", "files", "locked", "frozen"),
    [
        ("npm", ["package-lock.json", "docs/package.json"], False, True),
        ("pnpm", ["pnpm-lock.yaml"], False, False),
        ("npm", ["package-lock.json", "docs/package-lock.json"], True, True),
        ("npm", ["docs/package.json"], True, True),
    ],
)
def test_a_folder_without_a_lock_file_beside_one_with_it_is_installed_without(
    *, manager: Manager, files: list[str], locked: bool, frozen: bool
) -> None:
    node = NodePart(manager=manager, folders=(".", "docs"))
    assert part_of_folder(node, ".", files) == node
    assert part_of_folder(node, "docs", files) == node.with_(locked=locked, frozen=frozen)
