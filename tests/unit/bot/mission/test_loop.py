"""The mission loop on a world in memory: every outcome, resumption, cancellation."""

import pytest

from bot.domain.mission import Outcome
from tests.unit.bot.mission.world import MENDED, PATH, Stage


@pytest.mark.anyio
async def test_two_bugs_are_mended_in_two_iterations() -> None:
    context = await Stage().play()
    assert context.outcome is Outcome.FIXED, context.reason
    assert len(context.iterations) == 2
    assert context.iterations[0].verification is not None
    assert context.iterations[0].verification.partial
    assert context.fix is not None
    candidate, verification = context.fix
    assert [edit.content.decode() for edit in verification.edits] == [MENDED]
    assert len(candidate.changes) == 1
    assert verification.diff.startswith(f"diff --git a/{PATH}")
    assert all(criterion.passed for criterion in context.acceptance_criteria)
