"""Give one set-up command access to the proxy, by a port that leads to the proxy's socket.

    python3 -I -S relay.py SOCKET -- PROGRAM ARGUMENT...
    python3 -I -S relay.py SOCKET --check

The command is our child with our standard streams and the results channel; we exit as it exits. The
proxy decides what is allowed, not this program.
"""

import errno
import os
import resource
import selectors
import signal
import socket
import sys
import time
from typing import Dict, List, Optional

VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
PIECE = 65536
MOST = 90
"""Limit of parallel connections, lower than the proxy's; others wait to be accepted."""

PATIENCE_S = 5.0

NOT_FOUND, NOT_ALLOWED, NO_WAY_OUT = 127, 126, 125


class Half:
    """One direction of a connection: data read from one side and not yet written to the other."""

    def __init__(self, source: socket.socket, target: socket.socket) -> None:
        self.source = source
        self.target = target
        self.waiting = b""
        self.ended = False
        self.closed = False

    def read(self) -> None:
        """Read once; only called while nothing waits."""
        try:
            # Both directions are tried at each event, so there may be nothing to read.
            self.waiting = self.source.recv(PIECE)
        except BlockingIOError:
            return
        self.ended = not self.waiting

    def write(self) -> None:
        """Write the waiting data, and shut down at its end."""
        if self.waiting:
            try:
                sent = self.target.send(self.waiting)
            except BlockingIOError:
                return
            self.waiting = self.waiting[sent:]
        # Pass on the end of the stream only after all of its data.
        if self.ended and not self.waiting and not self.closed:
            self.closed = True
            self.target.shutdown(socket.SHUT_WR)


class Pair:
    """A connection to our port with its connection to the proxy."""

    def __init__(self, inner: socket.socket, outer: socket.socket) -> None:
        self.sockets = (inner, outer)
        self.halves = (Half(inner, outer), Half(outer, inner))

    def wanted(self, side: socket.socket) -> int:
        """Return the events to wait for on one of the sockets."""
        events = 0
        for half in self.halves:
            # Read no more than can be written: this keeps memory small.
            if half.source is side and not half.waiting and not half.ended:
                events |= selectors.EVENT_READ
            if half.target is side and half.waiting:
                events |= selectors.EVENT_WRITE
        return events

    def move(self) -> bool:
        """Move available data. Return True if the connection continues."""
        try:
            for half in self.halves:
                if not half.waiting and not half.ended:
                    half.read()
                half.write()
        except OSError:
            return False
        return not all(half.closed for half in self.halves)


class Relay:
    """Accepts connections on a port of this sandbox and connects them to the socket.

    Args:
        path: The proxy's socket.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._pairs: Dict[socket.socket, Pair] = {}
        self._events: Dict[socket.socket, int] = {}
        self._selector = selectors.DefaultSelector()
        self._listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._listener.bind(("127.0.0.1", 0))
        self._listener.listen(256)
        self._listener.settimeout(0.0)
        self.address = "http://127.0.0.1:%d" % self._listener.getsockname()[1]

    def _watch(self, side: socket.socket, events: int) -> None:
        """Wait for these events; without events, unregister the socket."""
        before = self._events.get(side, 0)
        if events == before:
            return
        if not before:
            self._selector.register(side, events)
        elif not events:
            self._selector.unregister(side)
        else:
            self._selector.modify(side, events)
        self._events[side] = events

    def _accept(self) -> None:
        try:
            inner, _ = self._listener.accept()
        except OSError:
            return
        outer = connect(self._path)
        if outer is None:
            inner.close()
            return
        inner.settimeout(0.0)
        pair = Pair(inner, outer)
        for side in pair.sockets:
            self._pairs[side] = pair
            self._watch(side, pair.wanted(side))

    def _drop(self, pair: Pair) -> None:
        for side in pair.sockets:
            self._watch(side, 0)
            del self._events[side]
            del self._pairs[side]
            side.close()

    def _moved(self, pair: Pair) -> None:
        if pair.move():
            for side in pair.sockets:
                self._watch(side, pair.wanted(side))
        else:
            self._drop(pair)

    def serve(self, child: int, alarm: int) -> int:
        """Serve until the command has ended, and return its wait status.

        Args:
            child: Its process id.
            alarm: A descriptor that becomes readable when a child ends.
        """
        self._selector.register(alarm, selectors.EVENT_READ)
        while True:
            status = poll_child(child)
            if status is not None:
                return status
            # Each pair has two sockets. At the limit, new connections stay in the kernel's queue.
            self._watch(self._listener, selectors.EVENT_READ if len(self._pairs) < 2 * MOST else 0)
            # The timeout is only a safeguard: the end of a child wakes the selector.
            for key, _ in self._selector.select(1.0):
                if key.fd == alarm:
                    os.read(alarm, 64)
                elif key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj in self._pairs:
                    self._moved(self._pairs[key.fileobj])


def connect(path: str) -> Optional[socket.socket]:
    """Connect to the proxy; return None on failure.

    The kernel refuses at once while the queue is full, so retry.
    """
    outer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    outer.settimeout(0.0)
    end = time.monotonic() + PATIENCE_S
    while True:
        try:
            outer.connect(path)
        except BlockingIOError:
            if time.monotonic() < end:
                time.sleep(0.01)
                continue
            outer.close()
            return None
        except OSError:
            outer.close()
            return None
        return outer


def poll_child(child: int) -> Optional[int]:
    """Return the wait status of the command; None while it runs."""
    pid, status = os.waitpid(child, os.WNOHANG)
    return status if pid else None


def exec_command(argv: List[str], address: str) -> None:
    """Become the command in the child, as if the supervisor had started it. Does not return."""
    # The command gets a session of its own, so signals to its group do not reach this process.
    os.setsid()
    for number in (
        signal.SIGPIPE,
        signal.SIGXFSZ,
    ):  # the interpreter ignores these signals, and a program would inherit that
        signal.signal(number, signal.SIG_DFL)
    env = {**os.environ, **dict.fromkeys(VARIABLES, address)}
    try:
        os.execvpe(argv[0], argv, env)
    except OSError as error:
        os.write(2, ("%s: %s\n" % (argv[0], error.strerror)).encode("utf-8", "replace"))
        missing = error.errno in (errno.ENOENT, errno.ENOTDIR)
        os._exit(NOT_FOUND if missing else NOT_ALLOWED)


def end_like(status: int) -> None:
    """Exit as the command did: with its status, or by the signal that killed it.

    Does not return.
    """
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        # Without this, the repeated signal could write a core file of this process.
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        os._exit(128 + number)
    os._exit(os.WEXITSTATUS(status))


def main(argv: List[str]) -> None:
    """Run the command with access to the proxy."""
    path, what, command = argv[1], argv[2], argv[3:]
    if what == "--check":
        os._exit(NO_WAY_OUT if connect(path) is None else 0)
    relay = Relay(path)
    alarm, ring = os.pipe()
    # A full pipe must not block the signal handler.
    os.set_blocking(ring, False)
    # Without a handler the interpreter writes nothing to the wakeup descriptor.
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
    child = os.fork()
    if not child:
        exec_command(command, relay.address)
    end_like(relay.serve(child, alarm))


if __name__ == "__main__":
    main(sys.argv)
