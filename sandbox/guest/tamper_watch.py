"""Report at once when code of the repository reaches for the functions that judge it.

An audit hook (PEP 578) cannot be removed, and it is asked before the interpreter does what is asked for: the record has
left the process before the reading or the change happens.
"""

import os
import sys
import sysconfig
import types
from typing import Any, Callable, FrozenSet

_READ = "object.__getattr__"
_SET = "object.__setattr__"
_PARTS = frozenset({"__code__", "__defaults__", "__kwdefaults__"})
_TRACING = frozenset({
    "sys.settrace", "sys.setprofile", "sys.addaudithook", "sys.monitoring.register_callback",
})  # fmt: skip
_REFERENCES = frozenset({"gc.get_referents", "gc.get_referrers"})
# These set tracing for whoever asks them to: their caller counts.
_TRACERS = ("bdb.py", "pdb.py", "trace.py", "threading.py", "profile.py", "cProfile.py")


def refers(arguments: Any, is_own: Callable[[Any], Any]) -> bool:
    """Return whether the garbage collector is asked about one of our functions."""
    asked = arguments[0] if isinstance(arguments[0], tuple) else arguments
    return any(is_own((value,)) for value in asked if isinstance(value, types.FunctionType))


class TamperWatch:
    """Watches functions, and the functions that trace.

    Args:
        report: Writes a record of a kind and a text.
        harden: Puts a function out of reach of the tests.
        is_installed: Tells whether a code object is that of an installed file.
    """

    def __init__(
        self, report: Callable[[str, str], None], harden: Callable[[Any], Any], is_installed: Callable[[Any], bool]
    ) -> None:
        self._report = report
        self._harden = harden
        self._is_installed = is_installed
        self._stdlib = tuple(os.path.realpath(sysconfig.get_paths()[name]) for name in ("stdlib", "platstdlib"))
        self._tools = tuple(os.path.join(folder, name) for folder in self._stdlib for name in _TRACERS)

    def begin(self, own: FrozenSet[Any], judging: FrozenSet[Any]) -> Callable[[], None]:
        """Watch from now on.

        Args:
            own: Functions nobody else has a reason to read.
            judging: Functions nobody has a reason to change.

        Returns:
            A function to call when our plugin is registered: before that, pytest reads our functions itself.
        """
        report, watched, armed = self._report, own | judging, [False]
        read, change, parts, tracing, references = _READ, _SET, _PARTS, _TRACING, _REFERENCES
        frame_of, foreign, is_own = sys._getframe, self._foreign_tracer, own.intersection

        def hook(event: str, arguments: Any) -> None:
            if event == read:
                if armed[0] and arguments[1] in parts and arguments[0] in own:
                    report("patched", "a test read the reporter's functions")
            elif event == change:
                if arguments[1] in parts and arguments[0] in watched:
                    report("patched", "code of " + arguments[0].__qualname__ + " was exchanged")
            elif event in tracing:
                if armed[0] and foreign(frame_of(1), arguments):
                    report("traced", event)
            elif event in references and armed[0] and refers(arguments, is_own):
                report("patched", "a test looked for the reporter's parts")

        sys.addaudithook(self._harden(hook))

        def arm() -> None:
            armed[0] = True

        return arm

    def is_foreign_tool(self, tool: Any) -> bool:
        """Return whether a trace or profile function comes from the repository, or does what the repository says."""
        if tool is None:
            return False
        function = getattr(tool, "__func__", tool)
        code = getattr(function, "__code__", None)
        if isinstance(code, types.CodeType):
            # The tracers of the standard library call methods that a subclass may bring.
            return code.co_filename.startswith(self._stdlib) or not self._is_installed(code)
        # Tracers in C have types that no class statement makes.
        return bool(type(tool).__flags__ & 1 << 9) or isinstance(tool, types.BuiltinFunctionType)

    def _foreign_tracer(self, frame: Any, arguments: Any) -> bool:
        if arguments and callable(arguments[0]):
            return self.is_foreign_tool(arguments[0])
        while frame is not None and os.path.realpath(frame.f_code.co_filename).startswith(self._tools):
            frame = frame.f_back
        return frame is not None and not self._is_installed(frame.f_code)
