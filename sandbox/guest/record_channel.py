"""The records that leave the sandbox on file descriptor 3: JSON lines, each signed over all lines before it.

A line is `<12 hex digits> <JSON list>`. The digits are a keyed hash of the previous line's digits and this line's JSON:
a line that was forged, changed, dropped or moved does not verify. The key never is in the environment or on a command
line, and after the start it is nowhere but inside an object of the hash library. What writes is a closure over
functions in C, and it tells when somebody else than our own programs calls it. (Code in the same process that knows us
well can still forge; the judge has other checks for that.)
"""

import hashlib
import json
import os
import sys
from typing import Any, Callable, List

START = "0" * 12
ESSENTIAL_BYTES = 3900000
DETAIL_BYTES = 2300000
_DIGITS = 6


def sign(key: bytes, previous: str, payload: bytes) -> str:
    """The digits in front of `payload` (bytes) when `previous` (str) stood in front of the line before."""
    return hashlib.blake2b(previous.encode("ascii") + payload, key=key, digest_size=_DIGITS).hexdigest()


def encoder() -> Callable[[Any], bytes]:
    """JSON in ASCII, by the library's own C code where it has it: nothing a test replaces in Python is asked."""
    make = getattr(json.encoder, "c_make_encoder", None)
    escape = getattr(json.encoder, "c_encode_basestring_ascii", None)
    if make is None or escape is None:
        whole = json.JSONEncoder(separators=(",", ":")).encode
        return lambda record: whole(record).encode("ascii")

    def refuse(value: Any) -> Any:
        raise TypeError("%r cannot be told" % type(value))

    no, yes = False, True
    pieces = make({}, refuse, escape, None, ":", ",", no, no, yes)
    join = "".join
    return lambda record: bytes(join(pieces(record, 0)), "ascii")


class Channel:
    """Writes records; survives tests that fork, and stays below the capacity of the channel.

    Args:
        descriptor: Where to write; moved away from its number, so that a test does not hit it by chance.
        key: Signs the lines.
        callers: The folder of the programs that may write; None allows everybody.
    """

    __slots__ = ("close", "send")

    def __init__(self, descriptor: int, key: bytes, callers: "str | None" = None) -> None:
        moved = os.dup(descriptor)
        os.close(descriptor)
        self.send, self.close = _writer(moved, hashlib.blake2b(key=key, digest_size=_DIGITS), callers)


def _caller_check(callers: "str | None") -> Callable[[], bool]:
    """Whether whoever called the function that asks is one of our programs."""
    frame_of = sys._getframe
    return lambda: callers is None or frame_of(2).f_code.co_filename.startswith(callers)


def _writing(write: Callable[[int, bytes], int]) -> Callable[[int, bytes], bool]:
    def write_all(descriptor: int, data: bytes) -> bool:
        try:
            while data:
                data = data[write(descriptor, data) :]
        except OSError:
            return False
        return True

    return write_all


def _writer(descriptor: int, keyed: Any, callers: "str | None") -> "tuple[Callable[..., bool], Callable[[], None]]":
    """The two functions of a channel: what they hold is in no attribute."""
    close_it, getpid, encode, is_ours = os.close, os.getpid, encoder(), _caller_check(callers)
    here, write_all = getpid(), _writing(os.write)
    digits, written, waiting = START, 0, b""

    def signed(payload: bytes) -> bytes:
        nonlocal digits
        hashed = keyed.copy()
        hashed.update(digits.encode("ascii") + payload)
        digits = str(hashed.hexdigest())
        return digits.encode("ascii") + b" " + payload + b"\n"

    def send(record: List[Any], *, detail: bool = False, held: bool = False) -> bool:
        """Write one record; returns whether there was room.

        Args:
            record: What to tell.
            detail: It is left out when there were many already.
            held: It may wait for the next record that may not: fewer, larger writes.
        """
        nonlocal descriptor, written, waiting
        if getpid() != here or descriptor < 0:
            return False
        if not is_ours():
            record, detail, held = ["patched", ["a test wrote records"]], False, False
        payload = encode(record)
        if written + len(payload) > (DETAIL_BYTES if detail else ESSENTIAL_BYTES):
            return False
        line = signed(payload)
        written += len(line)
        waiting += line
        if held:
            return True
        line, waiting = waiting, b""
        if not write_all(descriptor, line):
            descriptor = -1
        return descriptor >= 0

    def close() -> None:
        """No record follows."""
        nonlocal descriptor
        if descriptor >= 0:
            close_it(descriptor)
            descriptor = -1

    return send, close
