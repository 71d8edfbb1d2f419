"""An environment is set up once, and found again by everything that went into it."""

import asyncio

import pytest

from sandbox.errors import SetupFailed
from sandbox.snapshot import Origin, Snapshotter, pack
from sandbox.spec import SandboxSpec
from sandbox.types import CommandResult, Recipe, TrustTier
from tests.fakes.scripted_backend import ScriptedBackend

RECIPE = Recipe(command="pytest", requirements=("pytest", "ruff"))
MINE = Origin(repository_id="1", tier=TrustTier.BRANCH)
OTHER = Origin(repository_id="2", tier=TrustTier.FORK)

NO_WHEEL = CommandResult(
    argv=(), exit_code=1, stderr="x==1 has no usable wheels and building is disabled (only-binary)"
)
NO_PACKAGE = CommandResult(argv=(), exit_code=1, stderr="Because x was not found in the package registry")


def without_wheels(argv: tuple[str, ...]) -> CommandResult | None:
    return NO_WHEEL if "--only-binary" in argv else None


@pytest.mark.anyio
async def test_the_second_time_the_environment_is_warm() -> None:
    backend = ScriptedBackend()
    snapshotter = Snapshotter(backend, SandboxSpec())
    cold = await snapshotter.ensure(RECIPE, MINE)
    warm = await snapshotter.ensure(RECIPE, MINE)
    assert (cold.warm, warm.warm, warm.setup_s) == (False, True, 0.0)
    assert (cold.image, cold.key) == (warm.image, warm.key)
    assert len(backend.setups) == 1


@pytest.mark.anyio
async def test_an_environment_made_of_wheels_serves_every_repository() -> None:
    backend = ScriptedBackend()
    snapshotter = Snapshotter(backend, SandboxSpec())
    await snapshotter.ensure(RECIPE, MINE)
    assert (await snapshotter.ensure(RECIPE, OTHER)).warm


@pytest.mark.anyio
async def test_an_environment_in_which_something_was_built_serves_its_repository_and_tier_only() -> None:
    backend = ScriptedBackend(without_wheels)
    snapshotter = Snapshotter(backend, SandboxSpec())
    first = await snapshotter.ensure(RECIPE, MINE)
    assert "built from source" in first.notes[0].reason
    again = await snapshotter.ensure(RECIPE, MINE)
    assert (again.warm, again.notes) == (True, first.notes)
    assert not (await snapshotter.ensure(RECIPE, OTHER)).warm
    assert not (await snapshotter.ensure(RECIPE, MINE.with_(tier=TrustTier.FORK))).warm


@pytest.mark.anyio
async def test_set_up_commands_run_in_the_placed_checkout_and_are_never_shared() -> None:
    backend = ScriptedBackend()
    snapshotter = Snapshotter(backend, SandboxSpec())
    placed = []

    async def place(guest: object) -> None:
        placed.append(guest)

    recipe = RECIPE.with_(setup=("make gen",))
    await snapshotter.ensure(recipe, MINE, place=place)
    assert placed == backend.setups
    assert ("/bin/sh", "-c", "make gen") in backend.setups[0].commands
    assert (await snapshotter.ensure(recipe, MINE, place=place)).warm
    assert not (await snapshotter.ensure(recipe, OTHER, place=place)).warm
    assert not (await snapshotter.ensure(RECIPE, MINE)).warm


@pytest.mark.anyio
async def test_everything_that_goes_in_is_in_the_key() -> None:
    backend = ScriptedBackend()
    snapshotter = Snapshotter(backend, SandboxSpec())
    keys = {
        (await snapshotter.ensure(RECIPE, MINE)).key,
        (await snapshotter.ensure(RECIPE.with_(requirements=("pytest==8",)), MINE)).key,
        (await snapshotter.ensure(RECIPE.with_(python="3.12"), MINE)).key,
        (await snapshotter.ensure(RECIPE, MINE, files={"site/checkout.pth": "/work/repo\n"})).key,
        (await Snapshotter(backend, SandboxSpec(index_url="https://example.org/simple")).ensure(RECIPE, MINE)).key,
    }
    backend.toolchain = "toolchain:2"
    keys.add((await snapshotter.ensure(RECIPE, MINE)).key)
    assert len(keys) == 6
    assert (await snapshotter.ensure(RECIPE.with_(command="other"), MINE)).key in keys


@pytest.mark.anyio
async def test_one_set_up_at_a_time_for_one_key() -> None:
    backend = ScriptedBackend()
    snapshotter = Snapshotter(backend, SandboxSpec())
    await asyncio.gather(*(snapshotter.ensure(RECIPE, MINE) for _ in range(5)))
    assert len(backend.setups) == 1


@pytest.mark.anyio
async def test_what_cannot_be_installed_is_said_with_its_output() -> None:
    backend = ScriptedBackend(lambda argv: NO_PACKAGE if "install" in argv else None)
    with pytest.raises(SetupFailed, match="install the requirements") as caught:
        await Snapshotter(backend, SandboxSpec()).ensure(RECIPE, MINE)
    assert "package registry" in caught.value.log
    assert len([command for command in backend.setups[0].commands if "install" in command]) == 1
    assert backend.environments == set()
    assert backend.open_now == 0


@pytest.mark.anyio
async def test_a_set_up_that_takes_too_long_is_said() -> None:
    late = CommandResult(argv=(), exit_code=None, timed_out=True)
    backend = ScriptedBackend(lambda argv: late if "install" in argv else None)
    with pytest.raises(SetupFailed, match="longer than 600 s"):
        await Snapshotter(backend, SandboxSpec()).ensure(RECIPE, MINE)


@pytest.mark.anyio
async def test_a_python_that_is_not_there_gives_way_to_the_images_own() -> None:
    missing = CommandResult(argv=(), exit_code=2, stderr="No interpreter found for Python 3.12")
    backend = ScriptedBackend(lambda argv: missing if "3.12" in argv else None)
    await Snapshotter(backend, SandboxSpec()).ensure(RECIPE.with_(python="3.12"), MINE)
    made = [command for command in backend.setups[0].commands if command[:2] == ("uv", "venv")]
    assert [command[-2] for command in made] == ["3.12", "/usr/bin/python3"]


@pytest.mark.anyio
async def test_the_checkouts_metadata_is_brought_along() -> None:
    backend = ScriptedBackend()
    environment = await Snapshotter(backend, SandboxSpec()).ensure(
        RECIPE, MINE, files={"site/checkout.pth": "/work/repo\n"}
    )
    assert [note.treatment for note in environment.notes] == ["replaced"]
    (brought,) = backend.setups[0].unpacked.values()
    assert brought == {"requirements.txt": b"pytest\nruff\n", "site/checkout.pth": b"/work/repo\n"}


def test_the_same_files_make_the_same_archive() -> None:
    assert pack({"a": b"1", "b": b"2"}) == pack({"b": b"2", "a": b"1"})


@pytest.mark.anyio
async def test_the_one_python_of_a_built_toolchain_is_known_without_asking() -> None:
    backend = ScriptedBackend()
    backend.name = "docker"
    snapshotter = Snapshotter(backend, SandboxSpec(debian_suite="bookworm"))
    plain = await snapshotter.ensure(RECIPE, MINE)
    same = await snapshotter.ensure(RECIPE.with_(python="3.11"), MINE)
    other = await snapshotter.ensure(RECIPE.with_(python="3.9"), MINE)
    assert plain.key == same.key == other.key
    assert (
        await Snapshotter(backend, SandboxSpec(image="x")).ensure(RECIPE.with_(python="3.9"), MINE)
    ).key != plain.key
