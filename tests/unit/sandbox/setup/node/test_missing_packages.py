"""Packages that cannot be had are replaced or left out, and the environment names them."""

import json

import pytest
from typing_extensions import override

from sandbox.errors import SetupFailed
from sandbox.types import CommandResult
from tests.unit.sandbox.setup.node.test_install import OTHER, World


class WithdrawnRelease(World):
    """A registry that no longer has the release in the lock file.

    Args:
        listed: The versions of the package that it has.
    """

    def __init__(self, *listed: str) -> None:
        super().__init__()
        self.listed = listed

    @override
    def script(self, argv: tuple[str, ...]) -> CommandResult | None:
        """Refuse the missing release, and answer questions about the others."""
        if argv[-1] == "ci" and b"rou3-0.6.0.tgz" in self.lock:
            error = "npm error 404 Not Found - GET https://registry.example/rou3/-/rou3-0.6.0.tgz"
            return CommandResult(argv=argv, exit_code=1, stderr=error)
        if argv[-3:] == ("rou3", "versions", "--json"):
            return CommandResult(argv=argv, exit_code=0, stdout=json.dumps(self.listed))
        if argv[-1] == "dist.integrity":
            return CommandResult(argv=argv, exit_code=0, stdout=f"sha512-{'b' * 86}==\n")
        return super().script(argv)

    @property
    def lock(self) -> bytes:
        """Return the lock file from which packages are installed."""
        tree = self.backend.setups[-1].unpacked.get("/opt/env/node/tree", {})
        return tree.get("web/package-lock.json", b"")


WITHDRAWN = {"version": "0.6.0", "resolved": "https://registry.example/rou3/-/rou3-0.6.0.tgz"}
WITHDRAWN_FILES = {
    "node/web/package.json": "{}",
    "node/web/package-lock.json": json.dumps({"packages": {"node_modules/rou3": WITHDRAWN}}),
}


@pytest.mark.anyio
async def test_the_nearest_release_stands_in_for_one_that_the_registry_lacks() -> None:
    world = WithdrawnRelease("0.5.1", "0.6.1")
    made = await world.ensure(files=WITHDRAWN_FILES)
    assert json.loads(world.lock)["packages"]["node_modules/rou3"]["version"] == "0.6.1"
    (note,) = made.notes
    assert note.treatment == "replaced"
    assert "rou3@0.6.1 for 0.6.0" in note.reason
    again = await world.ensure(origin=OTHER, files=WITHDRAWN_FILES)
    assert again.warm
    assert again.notes == made.notes


@pytest.mark.anyio
@pytest.mark.parametrize("listed", ["0.6.0", "1.0.0"])
async def test_a_package_that_the_registry_refuses_for_another_reason_is_an_error(
    listed: str,
) -> None:
    with pytest.raises(SetupFailed, match="packages of web with `npm ci`") as caught:
        await WithdrawnRelease(listed).ensure(files=WITHDRAWN_FILES)
    assert "404 Not Found" in caught.value.log


@pytest.mark.anyio
async def test_a_development_package_from_git_is_left_out_and_named() -> None:
    declared = {"devDependencies": {"tooling": "a/tooling"}}
    locked = {"resolved": "git+ssh://git@host/rou3-0.6.0.tgz"}
    packages = {"": declared, "node_modules/tooling": locked}
    files = {
        "node/web/package.json": json.dumps(declared),
        "node/web/package-lock.json": json.dumps({"packages": packages}),
    }
    world = WithdrawnRelease()
    (note,) = (await world.ensure(files=files)).notes
    assert (note.step, note.treatment) == ("install tooling", "dropped")
    assert json.loads(world.lock) == {"packages": {"": {"devDependencies": {}}}}
