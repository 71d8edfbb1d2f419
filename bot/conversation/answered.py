"""Follow-up missions to an answered question: their fixers, and the recorded decision."""

import logging

from bot.domain.publication import Publication
from bot.domain.registry import Proposal, ProposedChange
from bot.domain.request import Feedback, MissionRequest, RepositoryRef
from bot.errors import StoreError
from bot.fixers.chosen import ChosenFixer
from bot.ports import Checkpoint, Fixer, LessonStore, Registry
from sandbox.types import Frozen

log = logging.getLogger(__name__)


class ChosenChange(Frozen):
    """The change a person chose, and the commit it was made for."""

    change: ProposedChange | None = None
    head_sha: str | None = None


async def fixers_for(
    request: MissionRequest,
    fixers: tuple[Fixer, ...],
    registry: Registry | None,
    checkpoint: Checkpoint,
) -> tuple[Fixer, ...]:
    """Return the fixers of a mission; a chosen change replaces the whole ladder."""
    answer, repository = request.answer, request.repository
    if answer is None or answer.choice is None or registry is None or repository is None:
        return fixers
    number, proposal_id = answer.choice, answer.proposal_id

    async def chosen() -> ChosenChange:
        try:
            proposal = await registry.proposal(repository.id, proposal_id=proposal_id)
        except StoreError as error:
            log.warning(
                "reading a chosen change failed: %s",
                error.message,
                extra={"mission": request.mission_id},
            )
            return ChosenChange()
        if proposal is None or number > len(proposal.changes):
            return ChosenChange()
        return ChosenChange(change=proposal.changes[number - 1], head_sha=proposal.head_sha)

    choice = await checkpoint.step("choice", ChosenChange, chosen)
    return (ChosenFixer(choice.change, choice.head_sha),)


async def note_answer(
    request: MissionRequest,
    publication: Publication,
    registry: Registry | None,
    lessons: LessonStore,
) -> None:
    """Record a chosen change as applied once it is delivered, also in the question's lesson.

    After a failure another can be chosen.
    """
    answer, repository = request.answer, request.repository
    if (
        answer is None
        or registry is None
        or repository is None
        or publication.way in {None, "report"}
    ):
        return
    try:
        proposal = await registry.proposal(repository.id, proposal_id=answer.proposal_id)
        if proposal is not None and not proposal.decided:
            await registry.propose(proposal.with_(decided="applied"))
            if answer.choice is not None and answer.choice <= len(proposal.changes):
                await lessons.feed_back(_feedback(repository, proposal, answer.choice))
    except StoreError as error:
        log.warning(
            "recording a decision failed: %s",
            error.message,
            extra={"mission": request.mission_id},
        )


def _feedback(repository: RepositoryRef, proposal: Proposal, choice: int) -> Feedback:
    """Return the answer for the question's lesson, which holds the first change."""
    first, chosen = proposal.changes[0], proposal.changes[choice - 1]
    return Feedback(
        repository=repository,
        pull_request=0,
        merged=False,
        branch=proposal.head_branch or "",
        fate="answered",
        mission_id=proposal.proposal_id,
        said=chosen.title,
        taken=chosen.diff if chosen is not first else "",
        difference=f"chosen instead of {first.title}:\n{chosen.diff}"
        if chosen is not first
        else "",
    )
