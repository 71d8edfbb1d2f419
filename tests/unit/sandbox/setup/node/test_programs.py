"""A workspace gets links to its packages, and programs of the packages that it is made of."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.setup.node.programs import LINK, SCAN


def test_a_workspace_gets_links_to_packages_and_to_lists_of_them(tmp_path: Path) -> None:
    packages = tmp_path / "tree/node_modules"
    for name in ("chai/index.js", "@b/c/index.js", ".bin/mocha", ".pnpm/x/y", ".cache/old"):
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text("x")
    (packages / ".yarn-state.yml").write_text("chai: {}")
    command = (sys.executable, "-I", "-S", "-c", LINK, str(tmp_path / "tree"), str(tmp_path / "to"))
    subprocess.run(command, check=True)
    links = tmp_path / "to/node_modules"
    assert sorted(path.name for path in links.iterdir()) == [
        ".bin", ".pnpm", ".yarn-state.yml", "@b", "chai"
    ]  # fmt: skip
    assert (links / ".yarn-state.yml").read_text() == "chai: {}"


@pytest.mark.parametrize(("mode", "printed"), [(0o755, "itself a"), (0o644, "node a")])
def test_programs_of_a_workspace_start_though_their_files_come_later(
    tmp_path: Path, mode: int, printed: str
) -> None:
    """As the managers leave it: a link to the package, and none to its program."""
    tree, links = tmp_path / "tree", tmp_path / "links"
    for name, about in (
        ("tool", {"name": "@b/tool", "bin": "./dist/run.js"}),
        ("evil", {"name": "evil", "bin": {"../up": "run.js", "out": "../../run.js", "sh": 1}}),
    ):
        (tree / "packages" / name).mkdir(parents=True)
        (tree / "packages" / name / "package.json").write_text(json.dumps(about))
    (tree / "node_modules/@b").mkdir(parents=True)
    (tree / "node_modules/@b/tool").symlink_to("../../packages/tool")
    (tree / "node_modules/evil").symlink_to("../packages/evil")
    subprocess.run((sys.executable, "-I", "-S", "-c", LINK, str(tree), str(links)), check=True)
    built = links / "packages/tool/dist/run.js"
    built.parent.mkdir(parents=True)
    built.write_text('#!/bin/sh\necho itself "$@"\n')
    built.chmod(mode)
    (tmp_path / "node").write_text('#!/bin/sh\nshift\necho node "$@"\n')
    (tmp_path / "node").chmod(0o755)
    programs = links / "node_modules/.bin"
    environment = {"PATH": f"{programs}:{tmp_path}:/usr/bin:/bin"}
    command = ["/bin/sh", "-c", "tool a"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == printed
    assert [path.name for path in programs.iterdir()] == ["tool"]


def test_a_link_to_the_whole_project_leads_to_the_workspace(tmp_path: Path) -> None:
    """As `link:.` of pnpm makes it in the folder of examples."""
    tree, links = tmp_path / "tree", tmp_path / "links"
    (tree / "examples/node_modules/@b").mkdir(parents=True)
    (tree / "package.json").write_text('{"name": "shop", "bin": "./run.js"}')
    (tree / "examples/node_modules/shop").symlink_to("../..")
    (tree / "examples/node_modules/@b/shop").symlink_to("../../..")
    subprocess.run((sys.executable, "-I", "-S", "-c", LINK, str(tree), str(links)), check=True)
    (links / "src.js").write_text("of the workspace")
    for name in ("shop", "@b/shop"):
        link = links / "examples/node_modules" / name
        assert (link / "src.js").read_text() == "of the workspace"
    assert (links / "examples/node_modules/.bin/shop").is_file()


def test_strange_names_of_programs_do_not_end_the_set_up(tmp_path: Path) -> None:
    tree, links = tmp_path / "tree", tmp_path / "links"
    (tree / "node_modules/@a").mkdir(parents=True)
    strange = ["", ".", "..", "a\0b", "n" * 250, "\u00e9" * 125, "good"]
    deep = "[" * 100_000
    for number, text in enumerate(
        (
            json.dumps({"bin": {**dict.fromkeys(strange, "run.js"), "long": "f" * 250}}),
            json.dumps({"name": "@a/", "bin": "run.js"}),
            json.dumps({"bin": {"half": "\udc80.js"}}),
            deep,
        )
    ):
        (tree / f"packages/{number}").mkdir(parents=True)
        (tree / f"packages/{number}/package.json").write_text(text)
        (tree / f"node_modules/@a/{number}").symlink_to(f"../../packages/{number}")
    subprocess.run((sys.executable, "-I", "-S", "-c", LINK, str(tree), str(links)), check=True)
    assert [path.name for path in (links / "node_modules/.bin").iterdir()] == ["good"]


@pytest.mark.parametrize("text", ["[" * 100_000, '{"scripts": 1}', '{"scripts": {"install": 1}'])
def test_a_strange_package_does_not_hide_the_scripts_of_others(tmp_path: Path, text: str) -> None:
    for name, about in (("a", text), ("b", '{"name": "b", "scripts": {"install": "x"}}')):
        (tmp_path / "node_modules" / name).mkdir(parents=True)
        (tmp_path / "node_modules" / name / "package.json").write_text(about)
    command = (sys.executable, "-I", "-S", "-c", SCAN, str(tmp_path), "5")
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)[:2] == ["b@None", ["install"]]
