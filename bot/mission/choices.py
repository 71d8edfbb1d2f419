"""CHOOSE: the changes a person may choose from if a fix is plausible and not certain."""

from bot.domain.counted import counted
from bot.domain.lesson import Correction
from bot.domain.mission import MissionContext
from bot.domain.patch import Candidate, Choice, FixAttempt, Rival, Rung, Verification
from bot.fixers.rung1_search.rank_model import gate_for
from bot.mission.tree import Tree
from sandbox.errors import ChangeRejected
from sandbox.types import Frozen

_UNRANKED = 0.4
"""Score below which rank cannot distinguish a candidate from its rivals."""
MOST = 3
"""Maximum number of choices in one question."""


class Choices(Frozen):
    """The stage's value."""

    choices: tuple[Choice, ...] = ()


def find_asked_rival(candidate: Candidate) -> Rival | None:
    """Return the rival that the question names: the first one that an input distinguishes.

    Args:
        candidate: The verified fix.
    """
    return next((rival for rival in candidate.rivals if rival.distinguishing_input), None)


async def build_choices(
    candidate: Candidate, verification: Verification, attempt: FixAttempt, tree: Tree
) -> Choices:
    """Return the verified fix and its rivals as diffs against the failing commit.

    Args:
        candidate: The verified fix; the first choice.
        verification: Its runs.
        attempt: The search that found it; its candidates hold the rivals' changes.
        tree: Workspace with the failing commit.
    """
    first = Choice(
        title=candidate.title,
        diff=verification.diff,
        edits=verification.edits,
        rung=candidate.rung,
        template=candidate.template,
        explanation=candidate.explanation,
        verified=True,
        calls=candidate.calls,
        alike=candidate.alike,
    )
    found = [first]
    for rival in _sort_by_question(candidate):
        other = next((c for c in attempt.candidates if c.id == rival.candidate_id), None)
        written = (
            await _written(other, rival, tree) if other is not None and len(found) < MOST else None
        )
        if written is not None:
            found.append(written)
    return Choices(choices=tuple(found))


def _sort_by_question(candidate: Candidate) -> list[Rival]:
    """Return the rivals, each of another behaviour, the one in the question first."""
    asked = find_asked_rival(candidate)
    # The sort is stable: behind the rival of the question, the ranking stays.
    return sorted(candidate.rivals, key=lambda rival: rival is not asked)


async def _written(other: Candidate, rival: Rival, tree: Tree) -> Choice | None:
    """Return a rival as a choice; None if its changes cannot be applied."""
    tree.touched()
    try:
        workspace = await tree.at(other.changes)
        diff, edits = await workspace.diff(), await workspace.changes()
    except ChangeRejected:
        return None
    finally:
        tree.touched()
    return Choice(
        title=other.title,
        diff=diff,
        edits=edits,
        rung=other.rung,
        template=other.template,
        explanation=other.explanation,
        differs_on=rival.distinguishing_input,
        results=rival.results,
        calls=other.calls,
        alike=other.alike,
    )


def build_question(candidate: Candidate, rival: Rival | None) -> str:
    """Return the question which fix is meant, with the smallest input that distinguishes two.

    Args:
        candidate: The doubted fix.
        rival: The change to name beside it, if there is one.
    """
    if rival is None:
        return f"Is this what is meant: {candidate.title}? {candidate.explanation}"
    # Titles may quote code in backticks themselves.
    asked = (
        f"Which is meant: {candidate.title}, or {rival.path} line {rival.line}: "
        f"{rival.description}? They differ on: {rival.distinguishing_input}"
    )
    if not any(rival.results):
        return asked
    return f"{asked}, where the first gives {rival.results[0]} and the second {rival.results[1]}"


def why_asked(candidate: Candidate, verification: Verification, context: MissionContext) -> str:
    """Return why a person is asked about a verified fix; empty if it is offered.

    Args:
        candidate: The verified fix.
        verification: Its runs.
        context: The policy and the workspace's facts.
    """
    lock = context.facts.lock_repair if context.facts else None
    written = [edit.path for edit in verification.edits if lock and edit.path == lock.path]
    answer = context.request.answer
    is_chosen = answer is not None and answer.choice is not None
    if written and context.policy.dependencies != "fix" and not is_chosen:
        return (
            f"{written[0]} fits `package.json` again and the command passes, but which versions "
            "are right is for a person to say, unless the policy has `dependencies: fix`"
        )
    if why := verification.unsure or _why_unsure(candidate):
        return f"{candidate.title} makes every test pass, but {why}"
    tied = candidate.behaviours > 1 and candidate.score < _UNRANKED
    if tied and find_asked_rival(candidate) is not None:
        return f"{candidate.behaviours} fixes pass every test and behave differently"
    return ""


def why_corrected(candidate: Candidate, correction: Correction) -> str:
    """Return why a confident candidate is doubted here; empty if it is not."""
    # A score that no ranking gave, as of a recalled or chosen fix, is not what outcomes correct.
    if not (candidate.confident and candidate.ranked and correction.outcomes):
        return ""
    chance = correction.apply(candidate.score)
    if chance >= gate_for(written=candidate.rung is Rung.MODEL):
        return ""
    outcomes = counted(correction.outcomes, "earlier fix", plural="earlier fixes")
    return f"after {outcomes} here it is right with a probability of {chance:.2f} only"


def _why_unsure(candidate: Candidate) -> str:
    """Return why a candidate is not confident; empty if it is."""
    if candidate.confident:
        return ""
    others = candidate.behaviours - 1
    if others:
        return (
            "so does 1 fix that behaves differently"
            if others == 1
            else f"so do {others} fixes that behave differently"
        )
    return "there is too little to believe it by"
