"""Trials that say what a function of the proposed change says, and try nothing."""

from collections.abc import Callable, Sequence

from bot.fixers.trials import Failure, Proposed, Tried, best_first

Says = Callable[[Proposed], Tried]
Finds = Callable[[Proposed], Sequence[Tried]]


def passed(
    proposed: Proposed,
    *,
    mended: tuple[str, ...] = (),
    score: float = 0.7,
    confident: bool = True,
) -> Tried:
    """A change with which everything passes, with the candidate the ladder takes."""
    candidate = proposed.as_candidate(score=score, confident=confident)
    return Tried(proposed=proposed, passes=True, mended=mended, score=score, candidate=candidate)


def failed(
    proposed: Proposed,
    *,
    mended: tuple[str, ...] = (),
    still_failing: tuple[str, ...] = ("test_calculator.py::test_add",),
    broke: tuple[str, ...] = (),
    output: str = "AssertionError: assert 1 == 2",
) -> Tried:
    """A change with which something still fails."""
    return Tried(
        proposed=proposed,
        passes=False,
        mended=mended,
        still_failing=still_failing,
        broke=broke,
        output=output,
    )


def nothing(_: Proposed) -> Sequence[Tried]:
    """The search finds nothing."""
    return ()


class ScriptedTrials:
    """Answers by the script.

    Args:
        says: From a change to how its trial went.
        finds: From a start to what a search begun there finds.
        compares: From a rival to its rank in the comparison.
    """

    def __init__(
        self, says: Says = failed, finds: Finds = nothing, compares: Says | None = None
    ) -> None:
        self._says = says
        self._finds = finds
        self._compares = compares or passed
        self.tried: list[tuple[Proposed, ...]] = []
        """The changes of every call."""
        self.rivals: list[tuple[Proposed, ...]] = []
        """The rivals of every call."""
        self.limits: list[float] = []
        """The time limit of every call, in order."""
        self.started: list[Proposed] = []
        """Every start that was searched from."""

    async def try_changes(
        self,
        failure: Failure,
        proposed: Sequence[Proposed],
        *,
        time_limit_s: float,
        rivals: Sequence[Proposed] = (),
    ) -> tuple[Tried, ...]:
        self.tried.append(tuple(proposed))
        self.rivals.append(tuple(rivals))
        self.limits.append(time_limit_s)
        tried = [self._says(one) for one in proposed]
        # As in the real one, nothing is compared with a change that does not pass.
        if any(one.passes for one in tried) or not proposed:
            tried += [self._compares(one) for one in rivals]
        return best_first(tried)

    async def search_from(
        self,
        failure: Failure,
        start: Proposed,
        *,
        time_limit_s: float,
        max_candidates: int,
    ) -> tuple[Tried, ...]:
        self.started.append(start)
        self.limits.append(time_limit_s)
        return best_first(self._finds(start))
