"""Requirements: wheels first, and what is to be built only when nothing can be reached any more."""

import pytest

from sandbox.errors import SetupFailed
from sandbox.setup.python.install import PythonToolchain
from sandbox.setup.shell import Shell
from sandbox.spec import SandboxSpec
from sandbox.types import CommandResult, PythonPart, Recipe
from tests.fakes.scripted_backend import ScriptedBackend, ScriptedGuest

RECIPE = Recipe(command="x", parts=(PythonPart(requirements=("a",), constraints=("b<2",)),))


class World:
    """One set-up sandbox, and the order of what happened in it."""

    def __init__(self, **answers: CommandResult) -> None:
        self.answers = answers
        self.backend = ScriptedBackend()
        self.guest = ScriptedGuest(self.script)
        self.seen: list[str] = []

    def script(self, argv: tuple[str, ...]) -> CommandResult | None:
        line = " ".join(argv)
        for word in ("fetch_sdists", "build_sdists", "--only-binary"):
            if word in line:
                self.seen.append(word + (" cut off" if self.backend.ended else ""))
                return self.answers.get(word.strip("-").replace("-", "_"))
        return None

    async def install(self, recipe: Recipe = RECIPE) -> tuple[str, ...]:
        shell = Shell(self.guest, SandboxSpec(), "/opt/env")
        toolchain = PythonToolchain(self.backend, SandboxSpec())
        fetched = await toolchain.fetch(shell, recipe, {})
        await self.backend.end_egress(self.guest)
        await toolchain.build(shell, recipe, {}, fetched)
        return fetched


def ended(code: int = 1, results: bytes = b"", stderr: str = "") -> CommandResult:
    return CommandResult(argv=(), exit_code=code, results=results, stderr=stderr)


NO_WHEEL = ended(stderr="a has no usable wheels")
FETCHED = ended(0, b'{"sources": ["a==1"]}')


@pytest.mark.anyio
async def test_wheels_are_enough() -> None:
    world = World()
    assert await world.install() == ()
    assert world.seen == ["--only-binary"]
    assert world.guest.unpacked["/work/setup"]["constraints.txt"] == b"b<2\n"
    assert any("--constraint" in command for command in world.guest.commands)


@pytest.mark.anyio
async def test_nothing_is_asked_for_without_requirements() -> None:
    world = World()
    await world.install(Recipe(command="x"))
    assert world.seen == []


@pytest.mark.anyio
async def test_what_has_no_wheel_is_built_when_nothing_can_be_reached() -> None:
    world = World(only_binary=NO_WHEEL, fetch_sdists=FETCHED)
    assert await world.install() == ("a==1",)
    assert world.seen == ["--only-binary", "fetch_sdists", "build_sdists cut off"]


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"only_binary": ended(stderr="a was not found")}, "could not install the requirements"),
        (
            {"only_binary": NO_WHEEL, "fetch_sdists": ended(1, b"{")},
            "could not install the requirements",
        ),
        (
            {"only_binary": NO_WHEEL, "fetch_sdists": ended(0, b"[]")},
            "could not install the requirements",
        ),
        (
            {"only_binary": NO_WHEEL, "fetch_sdists": ended(1, b'{"package": "", "reason": "r"}')},
            "requirements: r",
        ),
        (
            {"only_binary": NO_WHEEL, "fetch_sdists": ended(0, b"[" * 100_000)},
            "could not install the requirements",
        ),
        (
            {"only_binary": NO_WHEEL, "fetch_sdists": ended(0, b'{"sources": ["a==1\\n@all"]}')},
            "could not install",
        ),
        (
            {"only_binary": NO_WHEEL, "fetch_sdists": ended(0, b'{"sources": [{"a": 1}]}')},
            "could not install",
        ),
        (
            {"only_binary": NO_WHEEL, "fetch_sdists": FETCHED, "build_sdists": ended()},
            "could not build",
        ),
        (
            {
                "only_binary": NO_WHEEL,
                "fetch_sdists": FETCHED,
                "build_sdists": ended(1, b'{"package": "a", "reason": "no luck\\n\\u0007"}'),
            },
            "could not install a: no luck",
        ),
    ],
)
@pytest.mark.anyio
async def test_what_cannot_be_had_is_said(answers: dict[str, CommandResult], said: str) -> None:
    with pytest.raises(SetupFailed, match=said):
        await World(**answers).install()


REQUIRED = "No solution found when resolving dependencies. Because {} and you require a, we can conclude that your requirements are unsatisfiable."


@pytest.mark.parametrize(
    ("answers", "requested", "said"),
    [
        (
            {"only_binary": ended(stderr=REQUIRED.format("a==1 requires Python >=3.99"))},
            ("a",),
            "could not install a: .* requires another Python",
        ),
        (
            {
                "only_binary": NO_WHEEL,
                "fetch_sdists": FETCHED,
                "build_sdists": ended(1, b'{"package": "b", "reason": "r", "requested": ["a"]}'),
            },
            ("a",),
            "could not install b: r",
        ),
        ({"only_binary": ended(stderr="a was not found")}, (), "install the requirements"),
        (
            {
                "only_binary": NO_WHEEL,
                "fetch_sdists": ended(1, b'{"package": "a", "reason": "r", "requested": [1, {}]}'),
            },
            (),
            "could not install a: r",
        ),
    ],
    ids=["installer", "build", "unknown", "malformed"],
)
@pytest.mark.anyio
async def test_requested_packages_that_cannot_be_installed_are_in_the_error(
    answers: dict[str, CommandResult], requested: tuple[str, ...], said: str
) -> None:
    with pytest.raises(SetupFailed, match=said) as caught:
        await World(**answers).install()
    assert caught.value.requested == requested


@pytest.mark.anyio
async def test_a_set_up_that_ran_out_of_time_blames_no_package() -> None:
    late = CommandResult(
        argv=(),
        exit_code=None,
        timed_out=True,
        results=b'{"package": "a", "reason": "r", "requested": ["a"]}',
    )
    world = World(only_binary=NO_WHEEL, fetch_sdists=FETCHED, build_sdists=late)
    with pytest.raises(SetupFailed, match="took longer") as caught:
        await world.install()
    assert caught.value.requested == ()
