"""At run time: gives the program the leader's value, and drops from its company every alternative that differs."""

from __future__ import annotations

import math
from typing import Any, Callable, List, Optional

from sandbox.guest.search.execution.shared.purity import PLAIN, Unsafe
from sandbox.guest.search.process.limits import TimeUp

CHOOSE = "__metaagent_choose__"
"""The name, among the builtins of a child, by which a program asks for the value."""
MOST_EVALUATIONS = 6000
"""How many values of followers are compared in one run; after that the leader goes on alone."""
ATOMS = (int, str, bytes, bool, type(None))


class Chooser:
    """Serves one run of one test at a time."""

    def __init__(self) -> None:
        self.followers: List[int] = []
        self.spoiled: Optional[int] = None
        """An alternative that cannot be evaluated safely; the run says nothing."""
        self._leader = 0
        self._budget = 0
        self._looking = False

    def begin(self, leader: int, followers: List[int]) -> None:
        """A run with the values of one alternative; the others follow."""
        self._leader = leader
        self.followers = followers
        self.spoiled = None
        self._budget = MOST_EVALUATIONS
        self._looking = False

    @property
    def compared(self) -> int:
        """How many values of followers were compared in this run."""
        return MOST_EVALUATIONS - self._budget

    def value(self, alternative: Callable[[int], Any]) -> Any:
        """What the expression is worth."""
        return self._chosen(alternative, same)

    def truth(self, alternative: Callable[[int], Any]) -> Any:
        """The same where only truth counts."""
        return self._chosen(alternative, same_truth)

    def _chosen(self, alternative: Callable[[int], Any], agrees: Callable[[Any, Any], bool]) -> Any:
        if self._looking:
            raise Unsafe  # code of the repository runs where none should
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
                except TimeUp:
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
    """Whether no program can tell these values apart; two mutable ones only when they are one."""
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
    """Whether both are true, or both false."""
    if type(one) in PLAIN and type(other) in PLAIN:
        return bool(one) == bool(other)
    return same(one, other)


def same_error(one: BaseException, other: BaseException) -> bool:
    """Whether both are the same error of Python's own, in the same words."""
    return type(one) is type(other) and type(one).__module__ == "builtins" and same(one.args, other.args)


def _same_float(one: float, other: float) -> bool:
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return one == other and math.copysign(1.0, one) == math.copysign(1.0, other)


def _as_inline(error: BaseException) -> BaseException:
    """An unbound variable is another error inside a function of its own."""
    if type(error) is NameError and "free variable" in str(error):
        return UnboundLocalError(*error.args)
    return error
