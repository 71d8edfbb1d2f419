"""Which Python an environment gets."""

import json

import pytest

from sandbox.setup.python.interpreters import Interpreters, choose_nearest, list_hosts
from sandbox.setup.shell import Shell
from sandbox.spec import SandboxSpec
from sandbox.types import CommandResult
from tests.fakes.scripted_backend import ScriptedBackend, ScriptedGuest

MISSING = CommandResult(argv=(), exit_code=2, stderr="No interpreter found")
LISTED = json.dumps(
    [
        {
            "implementation": "cpython",
            "variant": "default",
            "version": "3.9.2",
            "url": "https://pythons.example/a.tgz",
        },
        {
            "implementation": "pypy",
            "variant": "default",
            "version": "3.9.1",
            "url": "https://other.example/a.tgz",
        },
    ]
)


class Image:
    """What an image has, and what can be fetched into it."""

    def __init__(self, *versions: str, fetchable: bool = False) -> None:
        self.versions = versions
        self.fetchable = fetchable
        self.fetched = False

    def __call__(self, argv: tuple[str, ...]) -> CommandResult | None:
        if argv[:2] == ("uv", "venv"):
            has = argv[-2].startswith("/") or argv[-2] in self.versions or self.fetched
            return None if has else MISSING
        if "--only-downloads" in argv:
            return CommandResult(argv=argv, exit_code=0, stdout=LISTED)
        if argv[:3] == ("uv", "python", "install"):
            self.fetched = self.fetchable
            return None if self.fetchable else MISSING
        if "--only-installed" in argv:
            plain = {"implementation": "cpython", "variant": "default"}
            return CommandResult(
                argv=argv,
                exit_code=0,
                stdout=json.dumps([plain | {"version": f"{v}.7"} for v in self.versions]),
            )
        if "sys.version_info" in argv[-1]:
            return CommandResult(argv=argv, exit_code=0, stdout=f"{self.versions[0]}\n")
        return None


async def made(
    image: Image, wanted: str | None, spec: SandboxSpec | None = None
) -> tuple[str | None, ScriptedBackend, ScriptedGuest]:
    backend, guest, spec = ScriptedBackend(), ScriptedGuest(image), spec or SandboxSpec()
    interpreters = Interpreters(backend, spec)
    shell = Shell(guest, spec, "/opt/env")
    return await interpreters.make_environment(shell, wanted), backend, guest


@pytest.mark.anyio
async def test_without_a_wish_it_is_the_images_own() -> None:
    found, _, guest = await made(Image("3.11"), None)
    assert found is None
    assert [command[-2] for command in guest.commands] == ["/usr/bin/python3"]


@pytest.mark.anyio
async def test_a_python_of_the_image_is_taken() -> None:
    found, backend, guest = await made(Image("3.11", "3.9"), "3.9")
    assert (found, len(guest.commands), backend.allowed) == ("3.9", 1, ())


@pytest.mark.anyio
async def test_a_missing_python_is_fetched_from_the_host_that_uv_names() -> None:
    found, backend, guest = await made(Image("3.11", fetchable=True), "3.9")
    assert (found, backend.allowed) == (
        "3.9",
        ("pythons.example:443", "https://pythons.example/a.tgz"),
    )
    (install,) = [number for number, command in enumerate(guest.commands) if "install" in command]
    assert guest.environments[install]["UV_PYTHON_INSTALL_DIR"] == "/opt/env/python"
    assert "UV_PYTHON_INSTALL_MIRROR" not in guest.environments[install]


@pytest.mark.anyio
async def test_the_operators_mirror_is_asked_and_needs_no_allowance() -> None:
    spec = SandboxSpec(
        python_mirror="https://pythons.example/mirror",
        python_downloads_json="https://lists.example/x",
    )
    _, backend, guest = await made(Image("3.11", fetchable=True), "3.9", spec)
    assert backend.allowed == ()
    assert guest.environments[1]["UV_PYTHON_INSTALL_MIRROR"] == "https://pythons.example/mirror"
    assert guest.environments[1]["UV_PYTHON_DOWNLOADS_JSON_URL"] == "https://lists.example/x"


@pytest.mark.anyio
async def test_where_nothing_can_be_fetched_the_nearest_is_taken_and_nothing_left_behind() -> None:
    found, _, guest = await made(Image("3.13", "3.11", "3.8"), "3.10")
    assert found == "3.11"
    assert ("rm", "-rf", "/opt/env/python") in guest.commands


@pytest.mark.anyio
async def test_where_fetching_is_off_nobody_asks() -> None:
    found, backend, guest = await made(Image("3.11"), "3.9", SandboxSpec(python_downloads="never"))
    assert (found, backend.allowed) == (None, ())
    assert not any("install" in command for command in guest.commands)


@pytest.mark.parametrize(
    ("wanted", "have", "found"),
    [
        ("3.9", ("3.11.2", "3.13.0"), "3.11"),
        ("3.12", ("3.11", "3.13"), "3.13"),
        ("3.14", ("3.8", "3.10"), "3.10"),
        ("3.9", ("2.7.18",), None),
        ("3.9", (), None),
        ("pypy", ("3.11",), None),
    ],
)
def test_the_nearest_is_the_closest_and_of_two_the_newer(
    wanted: str, have: tuple[str, ...], found: str | None
) -> None:
    assert choose_nearest(wanted, have) == found


def test_hosts_are_told_with_their_port_once() -> None:
    urls = (
        "https://a.example/x",
        "https://a.example/y",
        "http://b.example:81/",
        "file:///x",
        "",
        "https://[",
    )
    assert list_hosts(urls) == ("a.example:443", "b.example:81")


@pytest.mark.parametrize(("patience_s", "expected"), [(3600.0, "3.11"), (0.0, "3.9")])
@pytest.mark.anyio
async def test_a_python_that_could_not_be_had_is_asked_for_again_after_a_while(
    patience_s: float, expected: str
) -> None:
    backend, guest, spec = ScriptedBackend(), ScriptedGuest(Image("3.13", "3.11")), SandboxSpec()
    interpreters = Interpreters(backend, spec, patience_s)
    assert interpreters.expected("3.9") == "3.9"
    await interpreters.make_environment(Shell(guest, spec, "/opt/env"), "3.9")
    assert interpreters.expected("3.9") == expected
