"""Floods of a real service on loopback: what one makes it grow by, and how long `/healthz` takes meanwhile.

`python -m tests.flood PORT KIND CONNECTIONS SECONDS` is one flood, in a process of its own.
"""

import asyncio
import contextlib
import http.client
import json
import os
import resource
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.github_server.server import new_private_key
from tests.unit.bot.intake import payloads

ROOT = Path(__file__).resolve().parents[1]
MIB = 1 << 20
BODY = 25 * MIB
PART = b"x" * 65_536
READY_S = 90.0
FILES = 8_192
FORGED = "x-hub-signature-256: sha256=" + "0" * 64

UPLOADS = {
    "unsigned": ("x-github-delivery: d",),
    "misshapen signature": ("x-github-delivery: d", "x-hub-signature-256: sha256=" + "g" * 64),
    "no delivery": (FORGED,),
    "forged signature": ("x-github-delivery: d", FORGED),
    "forged, chunked": ("x-github-delivery: d", FORGED, "transfer-encoding: chunked"),
}
"""Bodies of 25 MiB, by kind: the headers they are sent with."""
HALVES = {
    "silent": b"",
    "half a head": b"POST /webhook HTTP/1.1\r\nhost: x\r\nx-a: ",
    "fat head": b"POST /webhook HTTP/1.1\r\nhost: x\r\nx-a: " + b"a" * 15_000,
    "many fields": b"GET /healthz HTTP/1.1\r\nhost: x\r\n" + b"a:b\r\n" * 99,
    "endless trailers": b"POST /x HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n0\r\n" + b"a:b\r\n" * 20_000,
    "half a body": ("POST /webhook HTTP/1.1\r\nhost: x\r\nx-github-event: ping\r\nx-github-delivery: d\r\n"
        f"content-type: application/json\r\n{FORGED}\r\ncontent-length: {BODY}\r\n\r\n").encode() + PART[:40_000],
}  # fmt: skip
"""Beginnings of requests, by kind: what a connection sends before it says nothing more."""


@dataclass
class Service:
    """A running `metaagent serve`."""

    port: int
    process: subprocess.Popen[bytes]

    @property
    def resident(self) -> int:
        """Bytes of memory that it has now."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return (
            int(next(line for line in text.splitlines() if line.startswith("VmRSS:")).split()[1])
            * 1024
        )

    @property
    def processor_s(self) -> float:
        """Processor seconds that it has used."""
        threads = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((one / "schedstat").read_text().split()[0]) for one in threads) / 1e9

    @property
    def open_files(self) -> int:
        """Files and sockets that it has open."""
        return sum(1 for _ in Path(f"/proc/{self.process.pid}/fd").iterdir())

    def health(self, timeout_s: float) -> int:
        """The status of `/healthz`, over a connection of its own."""
        with closing(
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        ) as client:
            client.request("GET", "/healthz")
            return client.getresponse().status

    def health_after(self, tries: int) -> int:
        """The status of `/healthz` in one of several tries; 0 for none."""
        for _ in range(tries):
            with contextlib.suppress(OSError):
                return self.health(60.0)
        return 0


@dataclass
class Seen:
    """What a flood did."""

    grown: int = 0
    """Bytes of memory at the worst moment, beyond those before."""
    slowest_s: float = 0.0
    """The slowest answer of `/healthz`."""
    most_work_s: float = 0.0
    """Most processor time of the service while `/healthz` waited: what a quiet machine would take."""
    health: Counter[int] = field(default_factory=Counter)
    """Answers of `/healthz` by status; 0 for none."""
    most_files: int = 0
    answers: dict[str, int] = field(default_factory=dict)
    """What the flood was answered, by status; `closed` or `none` without one."""


@contextmanager
def service(folder: Path, *, open_files: int | None = None, **variables: str) -> Iterator[Service]:
    """A service with a small database, no GitHub and no missions, for as long as the block runs."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    settings = {
        "APP_ID": str(payloads.APP_ID),
        "PRIVATE_KEY": new_private_key(),
        "WEBHOOK_SECRET": payloads.SECRET,
        "GITHUB_API_URL": "http://127.0.0.1:9/",
        "DATA_DIR": str(folder / "data"),
        "PORT": str(port),
        "LOG_LEVEL": "error",
        "SWEEP_S": "0",
        "SANDBOX__BACKEND": "local",
        "SANDBOX__LOCAL_UID": "65532",
    } | variables
    environment = {"PATH": os.environ["PATH"]} | {
        f"METAAGENT_{name}": value for name, value in settings.items()
    }
    command = [sys.executable, "-m", "bot", "serve"]
    if open_files is not None:
        command = ["sh", "-c", f'ulimit -n {open_files}; exec "$@"', "sh", *command]
    with (folder / "service.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
    try:
        running = Service(port, process)
        _wait_until_ready(running, folder / "service.log")
        yield running
    finally:
        process.terminate()
        process.wait(timeout=60)


def flood(target: Service, kind: str, connections: int, seconds: float, *, tries: int = 1) -> Seen:
    """Flood a service from another process, and watch it meanwhile and a moment longer.

    On a busy machine the client of a health check may wait for a processor between connecting and asking. The service
    then takes it for one of the flood and closes it, so that it may need more than one try.
    """
    seen = Seen()
    target.health(60.0)
    before = target.resident
    words = [
        sys.executable,
        "-m",
        "tests.flood",
        str(target.port),
        kind,
        str(connections),
        str(seconds),
    ]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE) as sender:
        assert sender.stdout is not None
        while sender.poll() is None:
            begun, worked = time.perf_counter(), target.processor_s
            seen.health[target.health_after(tries)] += 1
            seen.slowest_s = max(seen.slowest_s, time.perf_counter() - begun)
            seen.most_work_s = max(seen.most_work_s, target.processor_s - worked)
            for _ in range(5):
                seen.grown = max(seen.grown, target.resident - before)
                seen.most_files = max(seen.most_files, target.open_files)
                time.sleep(0.01)
        seen.answers = json.loads(sender.stdout.read())
    return seen


def _wait_until_ready(target: Service, log: Path) -> None:
    end = time.monotonic() + READY_S
    while time.monotonic() < end and target.process.poll() is None:
        with contextlib.suppress(OSError):
            if target.health(5.0) == 200:
                return
        time.sleep(0.1)
    raise RuntimeError(f"the service does not answer: {log.read_text()[-2000:]}")


# --- the flood, in a process of its own -----------------------------------------------------------------


async def _send(port: int, kind: str, connections: int, seconds: float) -> Counter[str]:
    answers: Counter[str] = Counter()

    async def connection() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        status = asyncio.create_task(_status(reader))
        with contextlib.suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(seconds):
                if kind in UPLOADS:
                    await _upload(writer, UPLOADS[kind])
                else:
                    writer.write(HALVES[kind])
                await asyncio.wait({status})
        answers[status.result() if status.done() else "none"] += 1
        status.cancel()
        writer.transport.abort()

    await asyncio.gather(*(connection() for _ in range(connections)))
    return answers


async def _upload(writer: asyncio.StreamWriter, headers: tuple[str, ...]) -> None:
    """Send the whole body, whatever is answered meanwhile."""
    lines = [
        "POST /webhook HTTP/1.1",
        "host: x",
        "x-github-event: ping",
        "content-type: application/json",
        *headers,
    ]
    chunked = "transfer-encoding: chunked" in headers
    if not chunked:
        lines.append(f"content-length: {BODY}")
    part = b"%x\r\n%b\r\n" % (len(PART), PART) if chunked else PART
    writer.write("\r\n".join([*lines, "", ""]).encode())
    for _ in range(BODY // len(PART)):
        writer.write(part)
        await writer.drain()


async def _status(reader: asyncio.StreamReader) -> str:
    try:
        return (await reader.readuntil(b"\r\n")).split()[1].decode()
    except (ConnectionError, asyncio.IncompleteReadError):
        return "closed"


def main() -> None:
    """Send one flood, and print how it was answered."""
    port, kind, connections, seconds = sys.argv[1:]
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(
        resource.RLIMIT_NOFILE,
        (FILES if hard == resource.RLIM_INFINITY else min(FILES, hard), hard),
    )
    sys.stdout.write(
        json.dumps(asyncio.run(_send(int(port), kind, int(connections), float(seconds))))
    )


if __name__ == "__main__":
    main()
