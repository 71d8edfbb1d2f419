"""What a workspace gets beside the commit: for Go, variables and a build cache that it can extend."""

import subprocess
from pathlib import Path
from typing import cast

import pytest

from sandbox.baseline import Baseline
from sandbox.checkout import CheckoutSource
from sandbox.types import USUAL, GoPart, NodePart, PythonPart, Recipe
from tests.fakes.scripted_backend import ScriptedGuest

GO = Recipe(command="go test", parts=(GoPart(),), environment={"GOFLAGS": "-v", "GOPROXY": "x"})


class Source:
    """A source that places nothing."""

    async def place(self, guest: object) -> None:
        """Place nothing."""


def baseline(recipe: Recipe, name: str = "") -> tuple[Baseline, ScriptedGuest]:
    guest, surroundings = ScriptedGuest(lambda _argv: None), USUAL.named(name)
    guest.python, guest.workdir = "/opt/env/bin/python", surroundings.workdir
    source = cast(CheckoutSource, Source())
    return Baseline(guest, source, recipe, 60.0, surroundings=surroundings), guest


def test_go_downloads_nothing_whatever_the_job_says() -> None:
    variables = baseline(GO)[0].variables
    assert variables["GOFLAGS"] == "-v"
    assert (variables["GOPROXY"], variables["GOTOOLCHAIN"]) == ("off", "local")
    assert variables["GOMODCACHE"] == "/opt/env/go/modules"
    assert variables["GOCACHE"] == "/work/@go-build"
    assert variables["GOMAXPROCS"] == "4"
    own = GO.with_(environment={"GOMAXPROCS": "1"})
    assert baseline(own)[0].variables["GOMAXPROCS"] == "1"
    assert "GOPROXY" not in baseline(Recipe(command="pytest"))[0].variables


def test_variables_name_the_checkout_where_it_is() -> None:
    recipe = Recipe(
        command="pytest",
        environment={"PYTHONPATH": ":/work/repo/src:/work/repo", "OTHER": "/work/repository"},
    )
    found = baseline(recipe, "app")[0].variables
    assert found["PYTHONPATH"] == ":/work/app/src:/work/app"
    assert found["OTHER"] == "/work/repository"
    assert baseline(recipe)[0].variables["PYTHONPATH"] == ":/work/repo/src:/work/repo"


def test_cargo_fetches_nothing_and_compiles_beside_the_checkout() -> None:
    variables = baseline(Recipe(command="cd api && cargo test"))[0].variables
    assert variables["CARGO_NET_OFFLINE"] == "true"
    assert variables["CARGO_TARGET_DIR"] == "/work/@cargo-target"


def test_packages_apart_from_the_project_are_found_by_name_and_by_plugins() -> None:
    node = NodePart(tools=("eslint@9", "eslint-plugin-x"))
    variables = baseline(Recipe(command="eslint .", parts=(node,)))[0].variables
    first, second, *_ = variables["PATH"].split(":")
    assert (first, second) == ("/opt/env/bin", "/opt/env/node/tools/bin")
    assert variables["NODE_PATH"] == "/opt/env/node/tools/lib/node_modules"
    assert variables["npm_config_prefix"] == "/opt/env/node/tools"
    usual = baseline(Recipe(command="npm test", parts=(NodePart(folders=(".",)),)))[0].variables
    assert "NODE_PATH" not in usual
    assert "node/tools" not in usual["PATH"]


@pytest.mark.anyio
async def test_a_workspace_of_go_links_the_compiled_library(tmp_path: Path) -> None:
    made, guest = baseline(GO)
    await made.make()
    (linking,) = [argv for argv in guest.commands if argv[-1] == "/work/@go-build"]
    assert linking[-2] == "/opt/env/go/compiled"
    compiled, cache = tmp_path / "compiled", tmp_path / "cache"
    (compiled / "00").mkdir(parents=True)
    (compiled / "00/a-d").write_text("object")
    for _ in range(2):
        subprocess.run([*linking[:-2], str(compiled), str(cache)], check=True)  # noqa: ASYNC221
    assert (cache / "00/a-d").is_symlink()
    assert int((cache / "trim.txt").read_text()) > 0
    subprocess.run([*linking[:-2], str(tmp_path / "no"), str(cache)], check=True)  # noqa: ASYNC221
    assert [path.name for path in cache.iterdir()] == ["trim.txt"]


@pytest.mark.anyio
async def test_other_workspaces_link_nothing() -> None:
    made, guest = baseline(Recipe(command="pytest"))
    await made.make()
    assert not any("go-build" in word for argv in guest.commands for word in argv)


PROJECT = Recipe(command="pytest", parts=(PythonPart(install_project=True),))


@pytest.mark.anyio
async def test_what_names_the_usual_path_finds_a_checkout_with_a_name() -> None:
    made, guest = baseline(PROJECT, "shop")
    await made.make()
    assert ("/bin/ln", "-sfn", "/work/shop", "repo") in guest.commands
    assert made.variables["METAAGENT_CHECKOUT"] == "/work/shop"
    unnamed, guest = baseline(PROJECT)
    await unnamed.make()
    assert not any("/bin/ln" in argv for argv in guest.commands)
    assert "METAAGENT_CHECKOUT" not in unnamed.variables


@pytest.mark.anyio
async def test_where_nothing_names_the_usual_path_nothing_is_there() -> None:
    made, guest = baseline(Recipe(command="npm test"), "shop")
    await made.make()
    assert not any("/bin/ln" in argv for argv in guest.commands)


@pytest.mark.parametrize("name", ["prepared", "cargo-target", "go-build", "import", "repo"])
def test_no_file_of_ours_is_where_a_checkout_can_be(name: str) -> None:
    cargo = Recipe(command="cargo test && go test", parts=(GoPart(),))
    made, guest = baseline(cargo, name)
    assert guest.workdir == f"/work/{name}"
    ours = {made.variables["CARGO_TARGET_DIR"], made.variables["GOCACHE"]}
    assert ours == {"/work/@cargo-target", "/work/@go-build"}
