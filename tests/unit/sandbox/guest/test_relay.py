"""The relay inside: a command runs as if nobody stood between, and has a way to the proxy."""

import contextlib
import signal
import socketserver
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import override

from sandbox.guest import relay
from tests.patience import HANG_S

CONNECT = """
    import os, socket
    def connected():
        host, port = os.environ["https_proxy"].removeprefix("http://").split(":")
        return socket.create_connection((host, int(port)), 10)
"""


def run(path: Path, *command: str, **more: Any) -> "subprocess.CompletedProcess[bytes]":
    """Run a command through the relay, as the supervisor does."""
    argv = [sys.executable, "-I", "-S", relay.__file__, str(path), "--", *command]
    return subprocess.run(argv, capture_output=True, timeout=HANG_S, check=False, **more)


def python(path: Path, script: str) -> "subprocess.CompletedProcess[bytes]":
    return run(
        path, sys.executable, "-I", "-S", "-c", textwrap.dedent(CONNECT) + textwrap.dedent(script)
    )


class Echo(socketserver.StreamRequestHandler):
    """Gives back what it gets, until the client ends."""

    server: "EchoServer"

    @override
    def handle(self) -> None:
        self.server.seen.append(1)
        with contextlib.suppress(OSError):
            while data := self.request.recv(1 << 16):
                self.request.sendall(data)


class EchoServer(socketserver.ThreadingUnixStreamServer):
    """A socket that echoes. Counts connections."""

    request_queue_size = 5
    """Few, so that clients meet a full queue."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), Echo)
        self.seen: list[int] = []


@contextmanager
def echoing(path: Path) -> Iterator[list[int]]:
    """Serve a socket that gives back what it gets; count its connections."""
    with EchoServer(path) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.05,))
        serving.start()
        try:
            yield server.seen
        finally:
            server.shutdown()
            serving.join()


def test_a_command_has_its_streams_and_its_results_channel() -> None:
    script = f"exec 3>&1; exec {sys.executable} -I -S {relay.__file__} /nowhere -- /bin/sh -c 'cat; echo e >&2; echo r >&3; exit 7'"
    done = subprocess.run(
        ["/bin/sh", "-c", script], input=b"in\n", capture_output=True, check=False, timeout=30
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, b"in\nr\n", b"e\n")


@pytest.mark.parametrize("status", [0, 1, 42, 255])
def test_its_exit_status_is_ours(tmp_path: Path, status: int) -> None:
    assert (run(tmp_path / "s", "/bin/sh", "-c", f"exit {status}")).returncode == status


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT, signal.SIGPIPE, signal.SIGXFSZ]
)
def test_and_so_is_the_signal_that_killed_it(tmp_path: Path, number: signal.Signals) -> None:
    assert (run(tmp_path / "s", "/bin/sh", "-c", f"kill -{int(number)} $$")).returncode == -number


def test_a_program_that_is_not_there_ends_as_a_shell_says(tmp_path: Path) -> None:
    missing = run(tmp_path / "s", "no-such-program")
    assert (missing.returncode, missing.stderr) == (
        127,
        b"no-such-program: No such file or directory\n",
    )
    assert (run(tmp_path / "s", "/etc/passwd")).returncode == 126


def test_the_command_leads_its_own_session_and_has_no_child_it_did_not_start(
    tmp_path: Path,
) -> None:
    script = """
        assert os.getsid(0) == os.getpgid(0) == os.getpid()
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            raise SystemExit(5)
    """
    assert (python(tmp_path / "s", script)).returncode == 5


def test_everything_that_asks_for_a_proxy_is_told_and_what_stays_local_is_not_ours_to_say(
    tmp_path: Path,
) -> None:
    done = run(
        tmp_path / "s",
        "/usr/bin/env",
        env={"MINE": "1", "HTTP_PROXY": "http://elsewhere:1", "NO_PROXY": "mine"},
    )
    found = dict(line.split("=", 1) for line in done.stdout.decode().splitlines())
    assert found.pop("MINE") == "1"
    assert found.pop("NO_PROXY") == "mine"
    assert {name.lower() for name in found} >= {"http_proxy", "https_proxy", "all_proxy"}
    assert len({value for name, value in found.items() if "proxy" in name.lower()}) == 1


def test_bytes_go_both_ways_and_the_end_of_one_leaves_the_other(tmp_path: Path) -> None:
    script = """
        import threading
        s = connected()
        sent = os.urandom(3 << 20)
        threading.Thread(target=lambda: (s.sendall(sent), s.shutdown(socket.SHUT_WR))).start()
        got = b""
        while piece := s.recv(65536):
            got += piece
        raise SystemExit(0 if got == sent else 9)
    """
    with echoing(tmp_path / "s") as seen:
        done = python(tmp_path / "s", script)
    assert (done.returncode, done.stderr, len(seen)) == (0, b"", 1)


def test_many_connections_wait_for_their_turn(tmp_path: Path) -> None:
    script = """
        held = [connected() for _ in range(150)]
        for number, one in enumerate(held[:60]):
            one.sendall(b"%d" % number)
            assert one.recv(10) == b"%d" % number
        for one in held[:60]:
            one.close()
        for one in held[60:]:
            one.sendall(b"x")
            assert one.recv(10) == b"x"
    """
    with echoing(tmp_path / "s") as seen:
        done = python(tmp_path / "s", script)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(seen) == 150


def test_without_a_proxy_connections_end_and_the_command_goes_on(tmp_path: Path) -> None:
    script = """
        try:
            raise SystemExit(0 if connected().recv(10) == b"" else 9)
        except ConnectionError:
            raise SystemExit(0)
    """
    assert (python(tmp_path / "nobody", script)).returncode == 0


def test_it_ends_with_its_command_although_connections_are_open(tmp_path: Path) -> None:
    started = time.monotonic()
    with echoing(tmp_path / "s"):
        assert (
            python(tmp_path / "s", "held = [connected() for _ in range(5)]; os._exit(3)")
        ).returncode == 3
    assert time.monotonic() - started < HANG_S


def test_the_check_says_whether_anybody_listens(tmp_path: Path) -> None:
    def check() -> int:
        argv = [sys.executable, "-I", "-S", relay.__file__, str(tmp_path / "s"), "--check"]
        return subprocess.run(argv, check=False).returncode

    assert check() == 125
    with echoing(tmp_path / "s"):
        assert check() == 0
    (tmp_path / "s").unlink(missing_ok=True)
    (tmp_path / "s").write_text("no socket")
    assert check() == 125
