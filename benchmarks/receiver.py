"""Deliveries a second: our receiver, which writes each to disk, beside probot's, which stores nothing.

    python -m benchmarks.receiver FOLDER [--rate N] [--seconds N] [--probot FOLDER]

FOLDER holds payloads as `EVENT/NAME.json`. Each receiver is a process of its own and is sent the same signed bytes over
kept connections: first at a steady rate, then as fast as it answers, turn by turn. probot is installed with npm into a
temporary folder, or taken from `--probot`, a folder that holds its node_modules.
"""

import argparse
import asyncio
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measure import as_users_have_it, report, run, summary
from bot.store.opening import FILE
from tests.unit.bot.intake import payloads

PROBOT = "probot@14.3.2"
CONNECTIONS = 16
READY_S = 60.0
TURN_S = 5.0
TURNS = 3

NODE = """
import { Server, Probot } from "probot";
import { generateKeyPairSync } from "node:crypto";
const pem = (type) => ({ type, format: "pem" });
const { privateKey } = generateKeyPairSync("rsa", {
  modulusLength: 2048, privateKeyEncoding: pem("pkcs8"), publicKeyEncoding: pem("spki"),
});
const settings = { appId: 1, privateKey, secret: process.env.SECRET, logLevel: "error" };
const server = new Server({ port: Number(process.env.PORT), host: "127.0.0.1", Probot: Probot.defaults(settings) });
await server.load((app) => { app.onAny(async () => {}); });
await server.start();
"""


@dataclass
class Sent:
    """What came back."""

    answers: Counter[int] = field(default_factory=Counter)
    spent_ms: list[float] = field(default_factory=list)
    late_ms: float = 0.0
    """How far the sender itself fell behind its own clock at worst."""


@dataclass(frozen=True)
class Deliveries:
    """Signed requests, each with an id of its own.

    Attributes:
        bodies: Event and payload.
        path: Where the receiver listens.
        name: Makes the ids of this round different from those of others.
    """

    bodies: list[tuple[str, bytes]]
    path: str
    name: str

    def request(self, number: int) -> bytes:
        """The bytes of one request."""
        event, payload = self.bodies[number % len(self.bodies)]
        # A body that came before is refused as a replay, so each is one of its own.
        body = payload.rstrip()[:-1] + b',"sent":%d,"round":"%s"}' % (number, self.name.encode())
        headers = payloads.signed(body, event, f"{self.name}-{number}")
        lines = [f"POST {self.path} HTTP/1.1", "host: 127.0.0.1", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode() + body


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rate", type=int, default=300, help="deliveries a second")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--probot", type=Path, help="folder with probot's node_modules")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        _serve(arguments.serve, arguments.folder)
        return
    was_off = as_users_have_it()
    found = sorted(arguments.folder.rglob("*.json"))
    bodies = [(path.parent.name, path.read_bytes()) for path in found if path.stem != "index"]
    if not bodies:
        parser.error(f"there are no payloads in {arguments.folder}")
    with tempfile.TemporaryDirectory() as folder:
        result = _measured(Path(folder), bodies, arguments)
    report("receiver", result, bytecode_was_off=was_off)


def _measured(
    folder: Path, bodies: list[tuple[str, bytes]], arguments: argparse.Namespace
) -> dict[str, Any]:
    probot = arguments.probot or _installed(folder / "probot")
    ours_rates, theirs_rates = [], []
    with _ours(folder / "data") as ours, _theirs(probot, folder) as theirs:
        steady = {
            name: asyncio.run(_steady(port, Deliveries(bodies, path, f"steady-{name}"), arguments))
            for name, port, path in (
                ("ours", ours, "/webhook"),
                ("probot", theirs, "/api/github/webhooks"),
            )
        }
        for turn in range(TURNS):
            ours_rates.append(
                asyncio.run(_fastest(ours, Deliveries(bodies, "/webhook", f"fast-{turn}")))
            )
            theirs_rates.append(
                asyncio.run(
                    _fastest(theirs, Deliveries(bodies, "/api/github/webhooks", f"f-{turn}"))
                )
            )
    with closing(sqlite3.connect(folder / "data" / FILE)) as database:
        (kept,) = database.execute(
            "SELECT count(*) FROM delivery WHERE id LIKE 'steady-%'"
        ).fetchone()
    return {
        "rate": arguments.rate,
        "seconds": arguments.seconds,
        "payloads": len(bodies),
        "sent": sum(steady["ours"].answers.values()),
        "answers": {str(status): count for status, count in sorted(steady["ours"].answers.items())},
        "in_the_inbox": kept,
        "lost": steady["ours"].answers[202] - kept,
        "ours_ms": summary(steady["ours"].spent_ms),
        "probot_ms": summary(steady["probot"].spent_ms),
        "sender_late_ms": round(max(steady["ours"].late_ms, steady["probot"].late_ms), 1),
        "ours_most_a_second": round(max(ours_rates)),
        "probot_most_a_second": round(max(theirs_rates)),
        "ratio": round(max(ours_rates) / max(theirs_rates), 2),
    }


# --- receivers --------------------------------------------------------------------------------------


def _installed(folder: Path) -> Path:
    folder.mkdir()
    run(
        "npm",
        "install",
        "--silent",
        "--no-audit",
        "--no-fund",
        "--prefix",
        folder,
        PROBOT,
        timeout=300,
    )
    return folder


@contextmanager
def _ours(folder: Path) -> Iterator[int]:
    port = _free_port()
    with _running(
        [sys.executable, "-m", "benchmarks.receiver", str(folder), "--serve", str(port)], port
    ):
        yield port


@contextmanager
def _theirs(probot: Path, folder: Path) -> Iterator[int]:
    port = _free_port()
    script = probot / "receiver.mjs"
    script.write_text(NODE)
    settings = {
        "PORT": str(port),
        "SECRET": payloads.SECRET,
        "HOME": str(folder),
        "NODE_ENV": "production",
    }
    with _running(["node", str(script)], port, settings):
        yield port


@contextmanager
def _running(words: list[str], port: int, more: dict[str, str] | None = None) -> Iterator[None]:
    log = Path(tempfile.gettempdir()) / f"receiver-{port}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            words, stdout=out, stderr=out, env={**os.environ, **(more or {})}
        )
    try:
        _wait_for(port, process)
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)
        log.unlink()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + READY_S
    while time.monotonic() < end and process.poll() is None:
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError(f"{process.args!r} does not listen")


def _free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _serve(port: int, folder: Path) -> None:
    """Our receiver alone: signature, routing, durable inbox; what it writes down is handed to nobody."""
    from fastapi import FastAPI

    from bot.clock import SystemClock
    from bot.domain.http import HttpLimits
    from bot.front.server import GuardedServer
    from bot.intake.identity import OwnApp
    from bot.intake.webhook import webhook_router
    from bot.queue.inbox import BUSY_S, Inbox
    from bot.store.opening import open_database
    from bot.telemetry import set_up_logging

    set_up_logging(level="info")
    inbox = Inbox(open_database(f"sqlite:///{folder / FILE}", busy_s=BUSY_S), SystemClock())
    inbox.open()
    app = FastAPI()
    own = OwnApp(app_id=payloads.APP_ID, slug="metaagent")
    app.include_router(webhook_router(secret=payloads.SECRET, inbox=inbox, own=own))
    GuardedServer(app, HttpLimits(), port=port).run()


# --- sending ----------------------------------------------------------------------------------------


async def _steady(port: int, deliveries: Deliveries, arguments: argparse.Namespace) -> Sent:
    """So many a second, whether earlier ones were answered or not; the time counts from when it was due."""
    sent = Sent()
    wanted = int(arguments.rate * arguments.seconds)
    begun = time.perf_counter() + 0.5
    numbers = iter(range(wanted))

    async def lane() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in numbers:
            request = deliveries.request(number)
            due = begun + number / arguments.rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            sent.late_ms = max(sent.late_ms, (time.perf_counter() - due) * 1000)
            sent.answers[await _exchange(reader, writer, request)] += 1
            sent.spent_ms.append((time.perf_counter() - due) * 1000)
        writer.close()

    await asyncio.gather(*(lane() for _ in range(2 * CONNECTIONS)))
    return sent


async def _fastest(port: int, deliveries: Deliveries) -> float:
    """Answers a second when each connection sends as soon as it was answered."""
    prepared = [deliveries.request(number) for number in range(20_000)]
    requests = iter(prepared)
    answered = 0
    begun = time.perf_counter()

    async def lane() -> None:
        nonlocal answered
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for request in requests:
            if time.perf_counter() - begun > TURN_S:
                break
            await _exchange(reader, writer, request)
            answered += 1
        writer.close()

    await asyncio.gather(*(lane() for _ in range(CONNECTIONS)))
    return answered / (time.perf_counter() - begun)


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
) -> int:
    writer.write(request)
    head = await reader.readuntil(b"\r\n\r\n")
    fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:] if b":" in line)
    if b"content-length" in fields:
        await reader.readexactly(int(fields[b"content-length"]))
    elif b"chunked" in fields.get(b"transfer-encoding", b""):
        while size := int(await reader.readline(), 16):
            await reader.readexactly(size + 2)
        await reader.readline()
    return int(head.split(b" ", 2)[1])


if __name__ == "__main__":
    main()
