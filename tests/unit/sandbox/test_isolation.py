"""The specification of a sandbox, checked from inside."""

import pytest

from sandbox.errors import SandboxError
from sandbox.isolation import find_excess_privileges
from sandbox.types import CommandResult
from tests.fakes.scripted_backend import ScriptedBackend

pytestmark = pytest.mark.anyio


def saying(text: str) -> ScriptedBackend:
    return ScriptedBackend(lambda argv: CommandResult(argv=argv, exit_code=0, stdout=text))


async def test_a_tight_sandbox_leaves_no_rights() -> None:
    assert await find_excess_privileges(saying("[]")) == ()


async def test_what_the_probe_got_is_named_and_bounded() -> None:
    first, second = await find_excess_privileges(saying(f'["mounts", "{"x" * 5000}"]'))
    assert first == "mounts"
    assert len(second) == 200


@pytest.mark.parametrize("text", ["", "Traceback", "[", "7"])
async def test_a_probe_without_an_answer_is_an_error(text: str) -> None:
    with pytest.raises(SandboxError, match="no result"):
        await find_excess_privileges(saying(text))
