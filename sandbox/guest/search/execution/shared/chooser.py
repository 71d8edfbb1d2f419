"""Runtime part of shared execution.

The program gets the leader's value; followers whose value differs are dropped.
"""

from __future__ import annotations

import math
from typing import Any, Callable, List, Optional

from sandbox.guest.search.execution.shared.purity import PLAIN, Unsafe
from sandbox.guest.search.process.limits import TimeLimitExceeded

CHOOSE = "__metaagent_choose__"
"""Name of the chooser among the builtins of a child."""
MOST_EVALUATIONS = 6000
"""Maximum number of follower values compared per run; after that the leader continues alone."""
ATOMS = (int, str, bytes, bool, type(None))


class Chooser:
    """Serves one run of one test at a time."""

    def __init__(self) -> None:
        self.followers: List[int] = []
        self.spoiled: Optional[int] = None
        """An alternative that cannot be evaluated safely; the run is then discarded."""
        self._leader = 0
        self._budget = 0
        self._looking = False

    def begin(self, leader: int, followers: List[int]) -> None:
        """Start a run with the values of one alternative; the others follow it."""
        self._leader = leader
        self.followers = followers
        self.spoiled = None
        self._budget = MOST_EVALUATIONS
        self._looking = False

    @property
    def compared(self) -> int:
        """The number of follower values compared in this run."""
        return MOST_EVALUATIONS - self._budget

    def value(self, alternative: Callable[[int], Any]) -> Any:
        """Return the leader's value of an expression."""
        return self._choose(alternative, same)

    def truth(self, alternative: Callable[[int], Any]) -> Any:
        """Return the leader's value of a condition; followers only need the same truth value."""
        return self._choose(alternative, same_truth)

    def _choose(self, alternative: Callable[[int], Any], agrees: Callable[[Any, Any], bool]) -> Any:
        if self._looking:
            raise Unsafe  # repository code is running inside a comparison
        error: Optional[BaseException] = None
        result: Any = None
        try:
            result = alternative(self._leader)
        except Unsafe:
            self.spoiled = self._leader
            raise
        except Exception as raised:
            error = _as_inline(raised)
        if self.followers:
            self._look_at_followers(alternative, agrees, result, error)
        if error is not None:
            raise error
        return result

    def _look_at_followers(
        self,
        alternative: Callable[[int], Any],
        agrees: Callable[[Any, Any], bool],
        result: Any,
        error: Optional[BaseException],
    ) -> None:
        self._budget -= len(self.followers)
        if self._budget < 0:
            self.followers = []
            return
        still: List[int] = []
        self._looking = True
        try:
            for number in self.followers:
                try:
                    other = alternative(number)
                except TimeLimitExceeded:
                    self.spoiled = number
                    raise
                except Unsafe:
                    continue
                except Exception as raised:
                    if error is not None and same_error(error, _as_inline(raised)):
                        still.append(number)
                    continue
                if error is None and agrees(result, other):
                    still.append(number)
        finally:
            self._looking = False
        self.followers = still


def same(one: Any, other: Any) -> bool:
    """Return True if no program can distinguish these values.

    Mutable values are the same only if they are one object.
    """
    if one is other:
        return True
    kind = type(one)
    if type(other) is not kind:
        return False
    if kind in ATOMS:
        return bool(one == other)
    if kind is float:
        return _same_float(one, other)
    if kind is tuple:
        return len(one) == len(other) and all(map(same, one, other))
    return bool(kind is range and one == other)


def same_truth(one: Any, other: Any) -> bool:
    """Return True if both values have the same truth value."""
    if type(one) in PLAIN and type(other) in PLAIN:
        return bool(one) == bool(other)
    return same(one, other)


def same_error(one: BaseException, other: BaseException) -> bool:
    """Return True if both are the same builtin exception with the same arguments."""
    return (
        type(one) is type(other)
        and type(one).__module__ == "builtins"
        and same(one.args, other.args)
    )


def _same_float(one: float, other: float) -> bool:
    # A program can tell 0.0 from -0.0, although they are equal.
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return one == other and math.copysign(1.0, one) == math.copysign(1.0, other)


def _as_inline(error: BaseException) -> BaseException:
    """Return an unbound variable's error as it would be raised outside the lambda."""
    if type(error) is NameError and "free variable" in str(error):
        return UnboundLocalError(*error.args)
    return error
