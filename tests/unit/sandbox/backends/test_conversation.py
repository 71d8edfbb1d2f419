"""Talking to a supervisor that may be anything: every byte from inside is hostile."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from sandbox.backends import conversation
from sandbox.backends.supervised import GuestPaths, SupervisedGuest
from sandbox.errors import ChangeRejected, SandboxDied, SandboxError
from sandbox.guest import wire
from sandbox.spec import RunLimits
from sandbox.types import CommandResult

pytestmark = pytest.mark.anyio

HELLO = {"event": "hello", "protocol": wire.PROTOCOL, "uid": 7, "environment": True}
NOTHING = {"n": 0, "head": "", "tail": ""}
RAN: dict[str, Any] = {
    "exit": 0, "signal": None, "timed_out": False, "flooded": False, "out": NOTHING, "err": NOTHING,
    "duration": 0.1, "survivors": 0, "oom_kills": 0,
}  # fmt: skip
PLACE = GuestPaths(
    workdir="/w",
    guest_dir="/g",
    environment_python="/e/python",
    system_python="/s/python",
    env={"PATH": "/bin"},
)
QUICK = RunLimits(wall_s=1.0)
Answer = Callable[[dict[str, Any]], bytes]


def line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


class ScriptedLink:
    """A link whose other end answers what a function says.

    Args:
        answer: From a request to the bytes sent back.
        hello: What is said first.
    """

    def __init__(self, answer: Answer, hello: bytes = line(HELLO)) -> None:
        self._answer = answer
        self._bytes: asyncio.Queue[bytes] = asyncio.Queue()
        self._bytes.put_nowait(hello)
        self.sent: list[dict[str, Any]] = []
        self.closed = False

    async def receive(self) -> bytes:
        return await self._bytes.get()

    async def send(self, data: bytes) -> None:
        request = json.loads(data.partition(b"\n")[0])
        self.sent.append(request)
        if piece := self._answer(request):
            self._bytes.put_nowait(piece)

    async def close(self) -> None:
        self.closed = True


class Killed:
    """Counts how often the sandbox was ended from outside."""

    def __init__(self) -> None:
        self.times = 0

    async def __call__(self) -> None:
        self.times += 1


async def guest_with(
    answer: Answer, hello: bytes = line(HELLO)
) -> tuple[SupervisedGuest, ScriptedLink, Killed]:
    link, killed = ScriptedLink(answer, hello), Killed()
    guest = SupervisedGuest(link, PLACE, killed)
    await guest.greet()
    return guest, link, killed


def answering(**fields: Any) -> Answer:
    return lambda request: line({"id": request.get("id"), "event": "done", **fields})


async def test_the_environment_decides_about_the_interpreter() -> None:
    guest, _, _ = await guest_with(answering())
    assert guest.python == "/e/python"
    bare, _, _ = await guest_with(answering(), line({**HELLO, "environment": False}))
    assert bare.python == "/s/python"
    await guest.close()
    await bare.close()


@pytest.mark.parametrize(
    "hello",
    [
        b"not json\n",
        b"[]\n",
        line({**HELLO, "protocol": 99}),
        line({**HELLO, "uid": 0}),
        line({"event": "hello"}),
        b"",
    ],
)
async def test_a_wrong_first_word_is_no_sandbox(hello: bytes) -> None:
    with pytest.raises(SandboxDied):
        await guest_with(answering(), hello)


async def test_a_command_is_ordered_and_its_end_read() -> None:
    guest, link, _ = await guest_with(answering(**RAN))
    result = await guest.run(("echo", "x"), limits=QUICK, env={"A": "b"})
    assert result.ok
    assert result.argv == ("echo", "x")
    assert (link.sent[0]["cwd"], link.sent[0]["env"]) == ("/w", {"PATH": "/bin", "A": "b"})
    await guest.close()
    assert link.closed


@pytest.mark.parametrize(
    "change",
    [
        {"exit": 300}, {"exit": "0"}, {"out": None}, {"out": {"n": -1, "head": "", "tail": ""}}, {"survivors": -5},
        {"out": {"n": 1, "head": "!!", "tail": ""}}, {"timed_out": "perhaps"}, {"duration": -1}, {"signal": 0},
    ],
)  # fmt: skip
async def test_a_malformed_end_of_a_command_is_not_believed(change: dict[str, Any]) -> None:
    guest, _, _ = await guest_with(answering(**{**RAN, **change}))
    with pytest.raises(SandboxDied):
        await guest.run(("x",), limits=QUICK)
    await guest.close()


async def test_unknown_fields_are_ignored() -> None:
    guest, _, _ = await guest_with(answering(**RAN, surprise={"deep": [1]}))
    assert (await guest.run(("x",), limits=QUICK)).ok
    await guest.close()


async def test_answers_to_other_requests_are_ignored() -> None:
    def answer(request: dict[str, Any]) -> bytes:
        return (
            line({"id": 99, "files": 5})
            + line({"files": 6})
            + line({"id": request["id"], "files": 7})
        )

    guest, _, _ = await guest_with(answer)
    assert await guest.snap() == 7
    await guest.close()


async def test_more_results_than_the_limit_are_cut() -> None:
    def answer(request: dict[str, Any]) -> bytes:
        piece = line({"id": request["id"], "event": "results", "data": wire.pack(b"x" * 60)})
        return piece * 5 + line({"id": request["id"], **RAN})

    guest, _, _ = await guest_with(answer)
    result = await guest.run(("x",), limits=RunLimits(results_bytes=100))
    assert len(result.results) == 100
    await guest.close()


async def test_lines_of_results_may_be_cut_anywhere() -> None:
    def answer(request: dict[str, Any]) -> bytes:
        pieces = [b"a", b"b\nc", b"\n\n", b"tail"]
        told = [
            line({"id": request["id"], "event": "results", "data": wire.pack(piece)})
            for piece in pieces
        ]
        return b"".join(told) + line({"id": request["id"], **RAN})

    guest, _, _ = await guest_with(answer)
    items = [item async for item in guest.stream(("x",), limits=QUICK)]
    assert items[:-1] == [b"ab", b"c", b"", b"tail"]
    assert isinstance(items[-1], CommandResult)
    assert items[-1].results == b"ab\nc\n\ntail"
    await guest.close()


async def test_a_refusal_is_told_apart_from_a_failure() -> None:
    refusing, _, _ = await guest_with(
        lambda r: line({"id": r["id"], "error": "refused", "detail": "no"})
    )
    with pytest.raises(ChangeRejected, match="no"):
        await refusing.read("x")
    failing, _, _ = await guest_with(
        lambda r: line({"id": r["id"], "error": "failed", "detail": "disk"})
    )
    with pytest.raises(SandboxError, match="disk") as caught:
        await failing.read("x")
    assert not isinstance(caught.value, ChangeRejected)
    await refusing.close()
    await failing.close()


async def test_a_sandbox_that_goes_away_is_said_to_be_gone() -> None:
    link = ScriptedLink(answering())
    guest = SupervisedGuest(link, PLACE, Killed())
    await guest.greet()
    link._bytes.put_nowait(b"")
    with pytest.raises(SandboxDied):
        await guest.snap()
    with pytest.raises(SandboxDied):
        await guest.list_files()
    await guest.close()


async def test_nonsense_on_the_line_ends_the_conversation() -> None:
    guest, _, _ = await guest_with(lambda _: b"{" * 5000 + b"\n")
    with pytest.raises(SandboxDied):
        await guest.snap()
    await guest.close()


async def test_a_flood_of_messages_ends_the_sandbox() -> None:
    guest, _, killed = await guest_with(
        lambda _: line({"id": 99}) * (conversation.QUEUE_MESSAGES + 10)
    )
    with pytest.raises(SandboxDied):
        await guest.snap()
    assert killed.times == 1
    await guest.close()


async def test_a_request_inside_an_open_stream_is_an_error_and_no_deadlock() -> None:
    def answer(request: dict[str, Any]) -> bytes:
        data = (
            line({"id": request["id"], "event": "results", "data": wire.pack(b"one\n")})
            if "argv" in request
            else b""
        )
        return data or line({"id": 1, **RAN})

    guest, _, _ = await guest_with(answer)
    stream = guest.stream(("x",), limits=QUICK)
    assert await anext(stream) == b"one"
    with pytest.raises(SandboxError, match="one command at a time"):
        await guest.snap()
    await stream.aclose()
    await guest.close()


async def test_closing_twice_is_fine() -> None:
    guest, _, _ = await guest_with(answering())
    await guest.close()
    await guest.close()
    with pytest.raises(SandboxDied):
        await guest.snap()


@pytest.mark.parametrize(
    ("text", "real"),
    [
        ("/opt/env", "/real"),
        ("/opt/env/bin/python", "/real/bin/python"),
        ("/opt/env/bin:/usr/bin", "/real/bin:/usr/bin"),
        ("uv venv /opt/env && ls", "uv venv /real && ls"),
        ("/opt/environment", "/opt/environment"),
        ("/my/opt/env", "/my/opt/env"),
        ("/opt/env-2", "/opt/env-2"),
    ],
)
def test_aliases_are_resolved_as_whole_paths(text: str, real: str) -> None:
    assert PLACE.with_(aliases={"/opt/env": "/real"}).resolve(text) == real
