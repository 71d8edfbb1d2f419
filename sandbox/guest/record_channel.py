"""The channel for records on file descriptor 3: JSON lines, signed as a chain.

A line is `<12 hex digits> <JSON list>`. The digits are a keyed hash of the previous line's digits
and this line's JSON: a forged, changed, dropped or moved line does not verify. The key is never in
the environment or on a command line, and after the start it only exists inside an object of the
hash library. The writer is a closure over C functions, and it reports callers other than our own
programs. (Code in the same process that knows this design can still forge records; the judge has
other checks for that.)
"""

import hashlib
import json
import os
import sys
from types import CodeType
from typing import Any, Callable, Dict, List, Set, Tuple

Place = Tuple[int, int]
Harden = Callable[[Any], Any]

START = "0" * 12
ESSENTIAL_BYTES = 3900000
DETAIL_BYTES = 2300000
_DIGITS = 6


def sign(key: bytes, previous: str, payload: bytes) -> str:
    """Return the digits of `payload` (bytes) after a line with the digits `previous` (str)."""
    return hashlib.blake2b(
        previous.encode("ascii") + payload, key=key, digest_size=_DIGITS
    ).hexdigest()


def encoder() -> Callable[[Any], bytes]:
    """Return a JSON encoder, in C if available: replaced Python functions have no effect."""
    make = getattr(json.encoder, "c_make_encoder", None)
    escape = getattr(json.encoder, "c_encode_basestring_ascii", None)
    if make is None or escape is None:
        whole = json.JSONEncoder(separators=(",", ":")).encode
        return lambda record: whole(record).encode("ascii")

    def refuse(value: Any) -> Any:
        raise TypeError("%r cannot be encoded" % type(value))

    no, yes = False, True
    pieces = make({}, refuse, escape, None, ":", ",", no, no, yes)
    join = "".join
    return lambda record: bytes(join(pieces(record, 0)), "ascii")


class Channel:
    """Writer of records. It survives forks of tests and respects the capacity of the channel.

    Args:
        descriptor: The descriptor to write to. It is moved, so that no test writes to it by
            accident.
        key: Signs the lines.
        callers: The places that may write, as returned by `place`; None allows all. It may grow.
        harden: Puts functions out of reach of the tests; see `hardened`.
    """

    __slots__ = ("close", "report", "send")

    def __init__(
        self,
        descriptor: int,
        key: bytes,
        callers: "Set[Place] | None" = None,
        harden: Harden = lambda function: function,
    ) -> None:
        moved = os.dup(descriptor)
        os.close(descriptor)
        keyed = hashlib.blake2b(key=key, digest_size=_DIGITS)
        self.send, self.report, self.close = _writer(moved, keyed, callers, harden)


def place(code: Any, names: Dict[str, Any]) -> Place:
    """Identify code by itself and its globals: a file name or a copy of the code is not enough."""
    return id(code), id(names)


def places(names: Dict[str, Any]) -> Set[Place]:
    """Return the places of all functions that one of our modules defines."""
    found: Set[Place] = set()
    waiting = [
        value for value in names.values() if getattr(value, "__module__", None) == names["__name__"]
    ]
    while waiting:
        value = waiting.pop()
        if isinstance(value, type):
            waiting.extend(vars(value).values())
        value = getattr(value, "__func__", getattr(value, "fget", value))
        code = value if isinstance(value, CodeType) else getattr(value, "__code__", None)
        if isinstance(code, CodeType):
            found.add(place(code, names))
            waiting.extend(part for part in code.co_consts if isinstance(part, CodeType))
    return found


def _writing(write: Callable[[int, bytes], int], harden: Harden) -> Any:
    def write_all(descriptor: int, data: bytes) -> bool:
        try:
            while data:
                data = data[write(descriptor, data) :]
        except OSError:
            return False
        return True

    return harden(write_all)


def _putting(state: List[Any], keyed: Any, harden: Harden) -> Any:
    """Return the function that signs and writes a record, with its mutable `state`."""
    getpid, encode, write_all = os.getpid, encoder(), _writing(os.write, harden)
    here = getpid()

    def put(record: List[Any], most: int, *, held: bool) -> bool:
        # A forked child must not write, because its records would break the chain.
        if getpid() != here or state[3] < 0:
            return False
        payload = encode(record)
        if state[1] + len(payload) > most:
            return False
        hashed = keyed.copy()
        hashed.update(state[0].encode("ascii") + payload)
        state[0] = hashed.hexdigest()
        line = state[0].encode("ascii") + b" " + payload + b"\n"
        state[1] += len(line)
        state[2] += line
        if held:
            return True
        line, state[2] = state[2], b""
        if not write_all(state[3], line):
            state[3] = -1
        return bool(state[3] >= 0)

    return harden(put)


def _writer(
    descriptor: int, keyed: Any, callers: "Set[Place] | None", harden: Harden
) -> Tuple[Any, Any, Any]:
    """Return the functions of a channel: send, report tampering, and close."""
    close_it, frame_of = os.close, sys._getframe
    # Digits of the last line, bytes written, waiting lines, descriptor (-1 if closed).
    state: List[Any] = [START, 0, b"", descriptor]
    put_safely = _putting(state, keyed, harden)

    def send(record: List[Any], *, detail: bool = False, held: bool = False) -> bool:
        """Write one record. Return True if there was room.

        Args:
            record: The record.
            detail: Whether it may be dropped if there were many already.
            held: Whether it may wait for the next record, for fewer and larger writes.
        """
        caller = frame_of(1)
        if callers is not None and (id(caller.f_code), id(caller.f_globals)) not in callers:
            return bool(
                put_safely(["patched", ["a test wrote records"]], ESSENTIAL_BYTES, held=False)
            )
        return bool(put_safely(record, DETAIL_BYTES if detail else ESSENTIAL_BYTES, held=held))

    def report(kind: str, text: str) -> None:
        """Write evidence against the session; any code may do this."""
        if state[1] < DETAIL_BYTES:
            put_safely([kind, [text]], ESSENTIAL_BYTES, held=False)

    def close() -> None:
        """Close the channel."""
        if state[3] >= 0:
            close_it(state[3])
            state[3] = -1

    return harden(send), harden(report), harden(close)
