"""Select the candidates of a climb: passing changes, else improving ones, else untested ones."""

from collections.abc import Iterator

from bot.domain.patch import Candidate, Rung
from bot.fixers.rung2_model.bench import Bench
from bot.fixers.rung2_model.tried_changes import TriedChange
from bot.fixers.trials import Proposed, Tried

PARTLY = 0.3
"""Score of a partial fix, below that of any complete fix."""
UNRANKED = 0.5
UNTRIED = "no trial of this change came to an end"
_SHOWN = 3
_PARTS_SHOWN = 2


def select_candidates(bench: Bench, model: str) -> Iterator[Candidate]:
    """Yield candidates, best first.

    Args:
        bench: The finished climb.
        model: Name of the model.
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
        yield _candidate(work, bench, model)


def base_candidate(proposed: Proposed, tried: Tried | None) -> Candidate:
    """Return the trial's candidate, or a partial or untested one, which is never confident.

    Args:
        proposed: The proposed change.
        tried: Result of its trial; None if there was none.
    """
    if tried is not None and tried.candidate is not None:
        return tried.candidate
    partly = tried is not None and bool(tried.mended) and not tried.passes and not tried.broke
    return proposed.as_candidate(
        score=PARTLY if partly else UNRANKED,
        partial=partly,
        confident=False,
        warnings=() if partly else (UNTRIED,),
    )


def _order(work: TriedChange) -> tuple[int, int]:
    """Return a sort key: most votes, then smallest change; ties keep the order proposed."""
    return -work.proposed.votes, work.proposed.changed_lines


def _candidate(work: TriedChange, bench: Bench, model: str) -> Candidate:
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
        # With an exit status alone there is no comparison, so such a change is not confident.
        confident=start.confident and not work.flags,
    )


def _explanation(text: str, work: TriedChange, bench: Bench) -> str:
    """Combine the model's explanation with the number of votes."""
    answers = len([call for call in bench.calls if call.trouble is None])
    votes = f"{work.proposed.votes} of {answers} answers proposed this change."
    if work.searched:
        votes = f"The search completed a model's change; {votes}"
    return f"{text}\n\n{votes}".strip()
