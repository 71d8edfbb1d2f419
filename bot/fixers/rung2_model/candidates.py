"""What the ladder is given of a climb: changes that pass; else what helps; else what nobody could try."""

from collections.abc import Iterator

from bot.domain.patch import Candidate, Rung
from bot.fixers.rung2_model.bench import Bench, Work

PARTLY = 0.3
"""A part of a fix is believed less than any whole one."""
UNTRIED = 0.5
_SHOWN = 3
_PARTS_SHOWN = 2


def candidates_of(bench: Bench, model: str) -> Iterator[Candidate]:
    """Candidates, best first.

    Args:
        bench: When nothing more is asked.
        model: What the answers are from.
    """
    works = list(bench.works.values())
    if bench.passing:
        chosen = sorted(bench.passing, key=lambda work: bool(work.flags))  # as ranked, what a person must see behind
    elif bench.trials is None:
        # As they were thought of where nothing else decides: the first answer is the likeliest one.
        chosen = sorted(works, key=lambda work: (-work.proposed.votes, work.proposed.changed_lines))[:_SHOWN]
    else:
        helping = [work for work in works if work.helps]
        chosen = sorted(helping, key=_most_mended)[:_PARTS_SHOWN]
    for work in chosen:
        yield _candidate(work, bench, model)


def _most_mended(work: Work) -> tuple[int, int, int]:
    mended = len(work.tried.mended) if work.tried else 0
    return -mended, work.proposed.changed_lines, -work.proposed.votes


def _candidate(work: Work, bench: Bench, model: str) -> Candidate:
    proposed, tried = work.proposed, work.tried
    ranked = tried.candidate if tried is not None and tried.passes else None
    partly = tried is not None and not tried.passes
    start = ranked or Candidate(
        id=proposed.id,
        rung=Rung.MODEL,
        fixer="model",
        title=proposed.title,
        changes=proposed.changes,
        score=PARTLY if partly else UNTRIED,
        partial=partly,
    )
    warnings = [*start.warnings, *(f"{flag.path}: {flag.message or flag.rule}" for flag in work.flags)]
    if partly and tried is not None:
        failing = len(tried.mended) + len(tried.still_failing)
        warnings.append(f"makes {len(tried.mended)} of {failing} failing tests pass and breaks none")
    return start.with_(
        rung=Rung.MODEL,
        fixer="model+search" if work.searched else "model",
        template=model,
        title=start.title or proposed.title,
        explanation=_explanation(work, bench),
        candidates_tried=bench.tried,
        warnings=tuple(dict.fromkeys(warnings)),
        confident=start.confident and not work.flags,
    )


def _explanation(work: Work, bench: Bench) -> str:
    """What its author says, and how it came about."""
    answers = len([call for call in bench.calls if call.trouble is None])
    told = f"{work.proposed.votes} of {answers} answers came to this change."
    if work.searched:
        told = f"The search completed a model's change; {told}"
    return f"{work.proposed.explanation}\n\n{told}".strip()
