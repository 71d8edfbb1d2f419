"""Select the candidates of a climb: passing changes, else improving ones, else untested ones."""

from collections.abc import Iterator

from bot.domain.patch import Candidate, Rung
from bot.fixers.rung2_model.bench import Bench
from bot.fixers.rung2_model.tried_changes import TriedChange
from bot.fixers.trials import Proposed, Tried

PARTLY = 0.3
"""Score of a partial fix, below that of any complete fix."""
UNRANKED = 0.5
_SHOWN = 3
_PARTS_SHOWN = 2


def select_candidates(bench: Bench, model: str, *, knows_tests: bool) -> Iterator[Candidate]:
    """Yield candidates, best first.

    Args:
        bench: The finished climb.
        model: Name of the model.
        knows_tests: True if the runner reports single tests, so that changes are compared and
            ranked.
    """
    works = list(bench.works.values())
    if bench.passing:
        # Ranked order; changes that a person must review come last.
        chosen = sorted(bench.passing, key=lambda work: (bool(work.flags), not work.is_sure))
    elif helping := [work for work in works if work.helps]:
        chosen = sorted(helping, key=lambda work: (-len(work.tried.mended), *_order(work)))[
            :_PARTS_SHOWN
        ]
    else:
        chosen = sorted((work for work in works if work.untold), key=_order)[:_SHOWN]
    for work in chosen:
        yield _candidate(work, bench, model, knows_tests=knows_tests)


def base_candidate(proposed: Proposed, tried: Tried | None) -> Candidate:
    """Return the trial's candidate, or a partial or untested one.

    proposed: The proposed change.
        tried: Result of its trial; None if there was none.
        tried: What its trial showed; None when there was none.
    """
    if tried is not None and tried.candidate is not None:
        return tried.candidate
    partly = tried is not None and bool(tried.mended) and not tried.passes and not tried.broke
    return proposed.as_candidate(score=PARTLY if partly else UNRANKED, partial=partly)


def _order(work: TriedChange) -> tuple[int, int]:
    """Return a sort key: most votes, then smallest change; ties keep the order proposed."""
    return -work.proposed.votes, work.proposed.changed_lines


def _candidate(work: TriedChange, bench: Bench, model: str, *, knows_tests: bool) -> Candidate:
    proposed, tried = work.proposed, work.tried
    start = base_candidate(proposed, tried)
    warnings = [
        *start.warnings,
        *(f"{flag.path}: {flag.message or flag.rule}" for flag in work.flags),
    ]
    if start.partial:
        failing = len(tried.mended) + len(tried.still_failing)
        warnings.append(
            f"makes {len(tried.mended)} of {failing} failing tests pass and breaks none"
        )
    return start.with_(
        rung=Rung.MODEL,
        fixer="model+search" if work.searched else "model",
        template=model,
        explanation=_explanation(start.explanation, work, bench),
        candidates_tried=bench.tried,
        warnings=tuple(dict.fromkeys(warnings)),
        # Changes can be compared only with single test results; otherwise only verification
        # decides.
        confident=(start.confident or not knows_tests) and not work.flags,
    )


def _explanation(text: str, work: TriedChange, bench: Bench) -> str:
    """Combine the model's explanation with the number of votes."""
    answers = len([call for call in bench.calls if call.trouble is None])
    votes = f"{work.proposed.votes} of {answers} answers proposed this change."
    if work.searched:
        votes = f"The search completed a model's change; {votes}"
    return f"{text}\n\n{votes}".strip()
