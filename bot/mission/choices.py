"""CHOOSE: the changes a person may choose from when a fix is plausible and not certain."""

from bot.domain.patch import Candidate, Choice, FixAttempt, Rival, Verification
from bot.mission.tree import Tree
from sandbox.errors import ChangeRejected
from sandbox.types import Frozen

MOST = 3
"""Choices in one question."""


class Choices(Frozen):
    """The value of the stage."""

    choices: tuple[Choice, ...] = ()


def asked_rival(candidate: Candidate) -> Rival | None:
    """Return the rival the question names: the first one that an input tells apart.

    Args:
        candidate: The verified fix.
    """
    return next((rival for rival in candidate.rivals if rival.distinguishing_input), None)


async def choices_of(candidate: Candidate, verification: Verification, attempt: FixAttempt, tree: Tree) -> Choices:
    """Write the verified fix and its rivals down as diffs against the failing commit.

    Args:
        candidate: The verified fix; the first choice.
        verification: Its runs.
        attempt: The climb that found it, with the candidates that hold the rivals' changes.
        tree: A workspace on the failing commit.
    """
    first = Choice(
        title=candidate.title,
        diff=verification.diff,
        edits=verification.edits,
        rung=candidate.rung,
        template=candidate.template,
        explanation=candidate.explanation,
        verified=True,
    )
    found = [first]
    for rival in _asked_first(candidate):
        other = next((c for c in attempt.candidates if c.id == rival.candidate_id), None)
        written = await _written(other, rival, tree) if other is not None and len(found) < MOST else None
        if written is not None:
            found.append(written)
    return Choices(choices=tuple(found))


def _asked_first(candidate: Candidate) -> list[Rival]:
    """Return the rivals, each of another behaviour, the one the question names in front."""
    asked = asked_rival(candidate)
    return sorted(candidate.rivals, key=lambda rival: rival is not asked)


async def _written(other: Candidate, rival: Rival, tree: Tree) -> Choice | None:
    """Return a rival as a choice; None when its changes cannot be made."""
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
    )
