"""What the ladder is given of a climb: changes that pass; else what helps; else what could not be tried to an end."""

from collections.abc import Iterator

from bot.domain.patch import Candidate, Rung
from bot.fixers.rung2_model.bench import Bench
from bot.fixers.rung2_model.works import Work
from bot.fixers.trials import Proposed, Tried

PARTLY = 0.3
"""A part of a fix is believed less than any whole one."""
UNRANKED = 0.5
_SHOWN = 3
_PARTS_SHOWN = 2


def candidates_of(bench: Bench, model: str, *, knows_tests: bool) -> Iterator[Candidate]:
    """Candidates, best first.

    Args:
        bench: When nothing more is asked.
        model: What the answers are from.
        knows_tests: Whether the runner can be asked for single tests, so that changes are compared and ranked.
    """
    works = list(bench.works.values())
    if bench.passing:
        # As ranked; what a person must see stands behind.
        chosen = sorted(bench.passing, key=lambda work: (bool(work.flags), not work.is_sure))
    elif helping := [work for work in works if work.helps]:
        chosen = sorted(helping, key=lambda work: (-len(work.tried.mended), *_order(work)))[:_PARTS_SHOWN]
    else:
        chosen = sorted((work for work in works if work.untold), key=_order)[:_SHOWN]
    for work in chosen:
        yield _candidate(work, bench, model, knows_tests=knows_tests)


def start_of(proposed: Proposed, tried: Tried | None) -> Candidate:
    """As the trials rank it; else as a part, or as a change of which nothing is known.

    Args:
        proposed: What was thought of.
        tried: What its trial showed; None when there was none.
    """
    if tried is not None and tried.candidate is not None:
        return tried.candidate
    partly = tried is not None and bool(tried.mended) and not tried.passes and not tried.broke
    return proposed.as_candidate(score=PARTLY if partly else UNRANKED, partial=partly)


def _order(work: Work) -> tuple[int, int]:
    """What most answers came to, then what is smallest; else as they were thought of: the first is the likeliest."""
    return -work.proposed.votes, work.proposed.changed_lines


def _candidate(work: Work, bench: Bench, model: str, *, knows_tests: bool) -> Candidate:
    proposed, tried = work.proposed, work.tried
    start = start_of(proposed, tried)
    warnings = [*start.warnings, *(f"{flag.path}: {flag.message or flag.rule}" for flag in work.flags)]
    if start.partial:
        failing = len(tried.mended) + len(tried.still_failing)
        warnings.append(f"makes {len(tried.mended)} of {failing} failing tests pass and breaks none")
    return start.with_(
        rung=Rung.MODEL,
        fixer="model+search" if work.searched else "model",
        template=model,
        explanation=_explanation(start.explanation, work, bench),
        candidates_tried=bench.tried,
        warnings=tuple(dict.fromkeys(warnings)),
        # Only of tests that run one by one can changes be compared; of others nothing is believed but verification.
        confident=(start.confident or not knows_tests) and not work.flags,
    )


def _explanation(text: str, work: Work, bench: Bench) -> str:
    """What its author says, what the trials showed, and how it came about."""
    answers = len([call for call in bench.calls if call.trouble is None])
    told = f"{work.proposed.votes} of {answers} answers came to this change."
    if work.searched:
        told = f"The search completed a model's change; {told}"
    return f"{text}\n\n{told}".strip()
