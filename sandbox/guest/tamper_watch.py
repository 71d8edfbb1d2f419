"""Report at once when repository code accesses the functions that judge it.

An audit hook (PEP 578) cannot be removed, and it runs before the audited action: the record has
left the process before the read or change happens.
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
_LOOKUP = "ctypes.dlsym"
_LOCALS = frozenset({"PyFrame_LocalsToFast"})
"""Functions of the interpreter that write a running function's variables. From Python 3.13 on,
`f_locals` writes them without a call (PEP 667)."""
# These install tracing on behalf of their caller, so that the caller counts.
_TRACERS = ("bdb.py", "pdb.py", "trace.py", "threading.py", "profile.py", "cProfile.py")


def refers(arguments: Any, is_own: Callable[[Any], Any]) -> bool:
    """Return True if the garbage collector is queried for one of our functions."""
    asked = arguments[0] if isinstance(arguments[0], tuple) else arguments
    return any(is_own((value,)) for value in asked if isinstance(value, types.FunctionType))


class TamperWatch:
    """Watches functions, and trace functions.

    Args:
        report: Writes a record of a kind and a text.
        harden: Puts a function out of reach of the tests.
        is_installed: Returns True for a code object of an installed file.
    """

    def __init__(
        self,
        report: Callable[[str, str], None],
        harden: Callable[[Any], Any],
        is_installed: Callable[[Any], bool],
    ) -> None:
        self._report = report
        self._harden = harden
        self._is_installed = is_installed
        self._stdlib = tuple(
            os.path.realpath(sysconfig.get_paths()[name]) for name in ("stdlib", "platstdlib")
        )
        self._tools = tuple(
            os.path.join(folder, name) for folder in self._stdlib for name in _TRACERS
        )

    def begin(self, own: FrozenSet[Any], judging: FrozenSet[Any]) -> Callable[[], None]:
        """Start to watch.

        Args:
            own: Functions that no other code may read.
            judging: Functions that no code may change.

        Returns:
            A function to call after our plugin is registered: until then, pytest itself reads our
            functions.
        """
        report, watched, armed = self._report, own | judging, [False]
        read, change, parts, tracing, references = _READ, _SET, _PARTS, _TRACING, _REFERENCES
        lookup, writers = _LOOKUP, _LOCALS
        frame_of, foreign, is_own = sys._getframe, self._foreign_tracer, own.intersection

        def hook(event: str, arguments: Any) -> None:
            if event == read:
                if armed[0] and arguments[1] in parts and arguments[0] in own:
                    report("patched", "a test read the reporter's functions")
            elif event == change:
                if arguments[1] in parts and arguments[0] in watched:
                    report("patched", "code of " + arguments[0].__qualname__ + " was exchanged")
            elif event in tracing and armed[0] and foreign(frame_of(1), arguments):
                report("traced", event)
            elif event == lookup and armed[0] and arguments[1] in writers:
                report("patched", "code changed the variables of a running function")
            elif event in references and armed[0] and refers(arguments, is_own):
                report("patched", "a test looked for the reporter's parts")

        sys.addaudithook(self._harden(hook))

        def arm() -> None:
            armed[0] = True

        return arm

    def is_foreign_tool(self, tool: Any) -> bool:
        """Return True if a trace or profile function comes from the repository, or calls it."""
        if tool is None:
            return False
        function = getattr(tool, "__func__", tool)
        code = getattr(function, "__code__", None)
        if isinstance(code, types.CodeType):
            # The standard library's tracers call methods that a subclass may override.
            return code.co_filename.startswith(self._stdlib) or not self._is_installed(code)
        # Tracers in C have types that no class statement creates.
        return bool(type(tool).__flags__ & 1 << 9) or isinstance(tool, types.BuiltinFunctionType)

    def _foreign_tracer(self, frame: Any, arguments: Any) -> bool:
        if arguments and callable(arguments[0]):
            return self.is_foreign_tool(arguments[0])
        while frame is not None and os.path.realpath(frame.f_code.co_filename).startswith(
            self._tools
        ):
            frame = frame.f_back
        return frame is not None and not self._is_installed(frame.f_code)
