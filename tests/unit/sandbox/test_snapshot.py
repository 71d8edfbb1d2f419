"""An environment is set up once, and found again by everything that went into it."""

import asyncio

import pytest

from sandbox.errors import SetupFailed
from sandbox.setup.shell import pack
from sandbox.snapshot import EnvironmentOrigin, Snapshotter
from sandbox.spec import SandboxSpec
from sandbox.types import CommandResult, Egress, PythonPart, Recipe, TrustTier
from tests.fakes.scripted_backend import ScriptedBackend

PYTHON = PythonPart(requirements=("pytest", "ruff"))
RECIPE = Recipe(command="pytest", parts=(PYTHON,))
OLD = RECIPE.with_part(PYTHON.with_(version="3.9"))
MINE = EnvironmentOrigin(repository_id="1", tier=TrustTier.BRANCH)
OTHER = EnvironmentOrigin(repository_id="2", tier=TrustTier.FORK)

NO_WHEEL = CommandResult(
    argv=(), exit_code=1, stderr="x==1 has no usable wheels and building is disabled (only-binary)"
)
NO_PACKAGE = CommandResult(
    argv=(), exit_code=1, stderr="Because x was not found in the package registry"
)


MISSING = CommandResult(argv=(), exit_code=2, stderr="No interpreter found for Python 3.9")


class Tree:
    """A checkout that is known by its digest.

    Args:
        digest: Of what would be placed.
    """

    def __init__(self, digest: str) -> None:
        self._digest = digest
        self.placed: list[object] = []

    async def digest(self) -> str:
        return self._digest

    async def place(self, guest: object) -> None:
        self.placed.append(guest)


def without_wheels(argv: tuple[str, ...]) -> CommandResult | None:
    if any("fetch_sdists" in word for word in argv):
        return CommandResult(argv=argv, exit_code=0, results=b'{"sources": ["docopt==0.6.2"]}')
    return NO_WHEEL if "--only-binary" in argv else None


def with_a_lock(argv: tuple[str, ...]) -> CommandResult | None:
    return (
        CommandResult(argv=argv, exit_code=0, stdout="a" * 64 + "\n")
        if "site-packages" in argv[2]
        else None
    )


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
async def test_an_environment_in_which_something_was_built_serves_its_repository_and_tier_only() -> (
    None
):
    backend = ScriptedBackend(without_wheels)
    snapshotter = Snapshotter(backend, SandboxSpec())
    first = await snapshotter.ensure(RECIPE, MINE)
    assert "built from source: docopt==0.6.2" in first.notes[0].reason
    commands = [" ".join(command) for command in backend.setups[0].commands]
    assert [
        name for line in commands for name in ("fetch_sdists", "build_sdists") if name in line
    ] == [
        "fetch_sdists",
        "build_sdists",
    ]
    assert backend.ended == [backend.setups[0]]
    again = await snapshotter.ensure(RECIPE, MINE)
    assert (again.warm, again.notes) == (True, first.notes)
    assert not (await snapshotter.ensure(RECIPE, OTHER)).warm
    assert not (await snapshotter.ensure(RECIPE, MINE.with_(tier=TrustTier.FORK))).warm


@pytest.mark.anyio
async def test_set_up_commands_run_in_the_placed_checkout_and_are_never_shared() -> None:
    backend = ScriptedBackend()
    snapshotter = Snapshotter(backend, SandboxSpec())
    tree = Tree("one")
    recipe = RECIPE.with_(setup=("make gen",))
    await snapshotter.ensure(recipe, MINE, checkout=tree)
    below, above = backend.setups
    assert tree.placed == [above]
    assert ("/bin/sh", "-c", "make gen") in above.commands
    assert backend.ended == [below, above]
    assert (await snapshotter.ensure(recipe, MINE, checkout=tree)).warm
    assert not (await snapshotter.ensure(recipe, OTHER, checkout=tree)).warm
    assert (
        await snapshotter.ensure(RECIPE, OTHER)
    ).warm  # what lies below the commands is anybody's


@pytest.mark.anyio
async def test_what_a_tree_set_up_serves_that_tree_in_that_fork_only() -> None:
    backend = ScriptedBackend()
    snapshotter = Snapshotter(backend, SandboxSpec())
    recipe = RECIPE.with_(setup=("sh deps.sh",))
    forks = [OTHER.with_(head_repository_id=fork) for fork in (None, "7", "8")]
    made = [
        await snapshotter.ensure(recipe, origin, checkout=Tree(tree))
        for origin in forks
        for tree in ("one", "two")
    ]
    assert not any(environment.warm for environment in made)
    assert len({environment.key for environment in made}) == len(made)
    assert (
        await Snapshotter(backend, SandboxSpec()).ensure(recipe, forks[1], checkout=Tree("two"))
    ).key == made[3].key
    assert [backend.notes[environment.image]["tree"] for environment in made] == ["one", "two"] * 3
    # Nothing of a checkout is in what lies below: all of them stand on one.
    assert len(backend.setups) == len(made) + 1


@pytest.mark.anyio
async def test_nothing_of_a_tree_is_in_the_key_of_what_no_command_of_it_touched() -> None:
    backend = ScriptedBackend(without_wheels)
    snapshotter = Snapshotter(backend, SandboxSpec())
    built = await snapshotter.ensure(
        RECIPE, OTHER.with_(head_repository_id="7"), checkout=Tree("one")
    )
    again = await snapshotter.ensure(
        RECIPE, OTHER.with_(head_repository_id="8"), checkout=Tree("two")
    )
    assert (again.warm, again.key) == (True, built.key)
    assert "tree" not in backend.notes[built.image]


@pytest.mark.anyio
async def test_locks_of_environments_are_not_kept_for_ever() -> None:
    snapshotter = Snapshotter(ScriptedBackend(), SandboxSpec())
    recipe = RECIPE.with_(setup=("make gen",))
    for tree in range(20):
        await snapshotter.ensure(recipe, MINE, checkout=Tree(str(tree)))
    assert len(snapshotter._locks) == 0


@pytest.mark.anyio
async def test_everything_that_goes_in_is_in_the_key() -> None:
    backend = ScriptedBackend()
    snapshotter = Snapshotter(backend, SandboxSpec())
    keys = {
        (await snapshotter.ensure(RECIPE, MINE)).key,
        (
            await snapshotter.ensure(
                RECIPE.with_part(PYTHON.with_(requirements=("pytest==8",))), MINE
            )
        ).key,
        (await snapshotter.ensure(RECIPE.with_part(PYTHON.with_(version="3.12")), MINE)).key,
        (
            await snapshotter.ensure(RECIPE.with_part(PYTHON.with_(constraints=("ruff<1",))), MINE)
        ).key,
        (await snapshotter.ensure(RECIPE, MINE, files={"site/checkout.pth": "/work/repo\n"})).key,
        (
            await Snapshotter(backend, SandboxSpec(index_url="https://example.org/simple")).ensure(
                RECIPE, MINE
            )
        ).key,
    }
    backend.toolchain = "toolchain:2"
    keys.add((await snapshotter.ensure(RECIPE, MINE)).key)
    assert len(keys) == 7
    assert (await snapshotter.ensure(RECIPE.with_(command="other"), MINE)).key in keys


@pytest.mark.anyio
async def test_an_environment_of_an_older_recipe_is_found_again() -> None:
    older = {"command": "pytest", "python": "3.9", "requirements": ["pytest", "ruff"]}
    snapshotter = Snapshotter(ScriptedBackend(), SandboxSpec())
    made = await snapshotter.ensure(OLD, MINE)
    found = await snapshotter.ensure(Recipe.model_validate(older), OTHER)
    assert (found.warm, found.key) == (True, made.key)


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
    await Snapshotter(backend, SandboxSpec()).ensure(
        RECIPE.with_part(PYTHON.with_(version="3.12")), MINE
    )
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
    assert brought == {
        "requirements.txt": b"pytest\nruff\n",
        "constraints.txt": b"",
        "site/checkout.pth": b"/work/repo\n",
    }


def test_the_same_files_make_the_same_archive() -> None:
    assert pack({"a": b"1", "b": b"2"}) == pack({"b": b"2", "a": b"1"})


@pytest.mark.anyio
async def test_the_one_python_of_a_built_toolchain_is_known_without_asking() -> None:
    backend = ScriptedBackend()
    backend.name = "docker"
    snapshotter = Snapshotter(backend, SandboxSpec(debian_suite="bookworm"))
    plain = await snapshotter.ensure(RECIPE, MINE)
    same = await snapshotter.ensure(RECIPE.with_part(PYTHON.with_(version="3.11")), MINE)
    assert plain.key == same.key
    assert len(backend.setups) == 1
    other = await Snapshotter(backend, SandboxSpec(image="x")).ensure(
        RECIPE.with_part(PYTHON.with_(version="3.11")), MINE
    )
    assert other.key != plain.key


@pytest.mark.anyio
async def test_a_python_that_cannot_be_had_is_looked_for_once_and_shares_the_nearest_ones_environment() -> (
    None
):
    backend = ScriptedBackend(lambda argv: MISSING if "3.9" in argv else None)
    backend.name = "docker"
    snapshotter = Snapshotter(backend, SandboxSpec())
    plain = await snapshotter.ensure(RECIPE, MINE)
    other = await snapshotter.ensure(OLD, MINE)
    again = await snapshotter.ensure(
        RECIPE.with_part(PythonPart(version="3.9", requirements=("x",))), MINE
    )
    assert (other.key, other.warm, again.warm) == (plain.key, True, False)
    asked = [["3.9" in command for command in setup.commands] for setup in backend.setups]
    assert [sum(setup) for setup in asked] == [0, 2, 0]


@pytest.mark.anyio
async def test_an_environment_with_a_python_found_below_the_commands_keeps_it() -> None:
    backend = ScriptedBackend(lambda argv: MISSING if "3.9" in argv else None)
    snapshotter = Snapshotter(backend, SandboxSpec())
    recipe = OLD.with_(setup=("make gen",))
    tree = Tree("one")
    first = await snapshotter.ensure(recipe, MINE, checkout=tree)
    again = await snapshotter.ensure(recipe, MINE, checkout=tree)
    assert (again.warm, again.key) == (True, first.key)
    assert (
        first.key
        == (await Snapshotter(backend, SandboxSpec()).ensure(recipe, MINE, checkout=tree)).key
    )


@pytest.mark.anyio
async def test_what_is_installed_and_what_was_reached_is_kept_with_the_environment() -> None:
    backend = ScriptedBackend(with_a_lock)
    backend.egress = Egress(hosts=("index.example:443",), received_bytes=7)
    snapshotter = Snapshotter(backend, SandboxSpec())
    cold = await snapshotter.ensure(RECIPE, MINE)
    warm = await Snapshotter(backend, SandboxSpec()).ensure(RECIPE, MINE)
    assert (cold.lock_hash, cold.egress) == ("a" * 64, backend.egress)
    assert (warm.lock_hash, warm.egress, warm.warm) == (cold.lock_hash, cold.egress, True)


@pytest.mark.anyio
async def test_notes_that_cannot_be_read_are_nothing() -> None:
    backend = ScriptedBackend(with_a_lock)
    cold = await Snapshotter(backend, SandboxSpec()).ensure(RECIPE, MINE)
    backend.notes[cold.image] = {"record": "{"}
    warm = await Snapshotter(backend, SandboxSpec()).ensure(RECIPE, MINE)
    assert (warm.warm, warm.lock_hash) == (True, "")


@pytest.mark.anyio
async def test_the_key_goes_by_what_lies_below_the_guest_programs_where_that_is_known() -> None:
    backend = ScriptedBackend()
    backend.notes = {"toolchain:1": {"base": "sha256:b"}, "toolchain:2": {"base": "sha256:b"}}
    cold = await Snapshotter(backend, SandboxSpec()).ensure(RECIPE, MINE)
    backend.toolchain = "toolchain:2"
    assert (await Snapshotter(backend, SandboxSpec()).ensure(RECIPE, MINE)).key == cold.key


@pytest.mark.anyio
async def test_what_has_no_wheel_and_cannot_be_fetched_is_named() -> None:
    def script(argv: tuple[str, ...]) -> CommandResult | None:
        if any("fetch_sdists" in word for word in argv):
            told = b'{"package": "odd-one", "reason": "what builds it cannot be had as wheels"}'
            return CommandResult(argv=argv, exit_code=1, results=told, stderr="the log")
        return without_wheels(argv)

    with pytest.raises(SetupFailed, match="could not install odd-one: what builds it") as caught:
        await Snapshotter(ScriptedBackend(script), SandboxSpec()).ensure(RECIPE, MINE)
    assert "the log" in caught.value.log


@pytest.mark.anyio
async def test_another_python_is_brought_in_once_for_all_environments() -> None:
    backend = ScriptedBackend()
    backend.egress = Egress(hosts=("pythons.example:443",))
    snapshotter = Snapshotter(backend, SandboxSpec())
    one = await snapshotter.ensure(OLD, MINE)
    two = await snapshotter.ensure(
        RECIPE.with_part(PythonPart(version="3.9", requirements=("x",))), OTHER
    )
    made = [
        [command for command in setup.commands if command[:2] == ("uv", "venv")]
        for setup in backend.setups
    ]
    assert [len(commands) for commands in made] == [1, 0, 0]
    assert one.key != two.key
    assert two.egress.hosts == ("pythons.example:443",)
    assert (await snapshotter.ensure(OLD, OTHER)).warm


@pytest.mark.anyio
async def test_further_packages_are_in_an_image_of_their_own() -> None:
    backend = ScriptedBackend()
    snapshotter = Snapshotter(backend, SandboxSpec())
    rust = await snapshotter.ensure(RECIPE, MINE, packages=("cargo",))
    plain = await snapshotter.ensure(RECIPE, MINE)
    assert backend.stood_on == ["toolchain:1-cargo", "toolchain:1"]
    assert rust.key != plain.key


@pytest.mark.anyio
async def test_where_no_such_image_can_be_built_the_usual_one_is_taken() -> None:
    backend = ScriptedBackend()
    backend.cannot_add = True
    await Snapshotter(backend, SandboxSpec()).ensure(RECIPE, MINE, packages=("cargo",))
    assert backend.stood_on == ["toolchain:1"]
