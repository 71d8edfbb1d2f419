"""Edits that linters offer: the check confirms them, and those that need a person become a question."""

import json

import pytest

from bot.domain.patch import Candidate, FixBudget
from bot.fixers.rung1_search.engine import SearchFixer
from sandbox.types import (
    EditDoubt,
    EditProposal,
    ProposalRequest,
    RunVerdict,
    SpanEdit,
    TestReport,
    TestStatus,
)
from tests.builders import a_diagnosis, a_lint_failure, a_lint_report, a_running_mission, facts
from tests.fakes.fake_workspace import FakeWorkspace, Files, green
from tests.fakes.memory_lessons import MemoryLessons

pytestmark = pytest.mark.anyio
LINT = "npx eslint src"
MANIFEST = json.dumps({"scripts": {"test": "node --test src"}})


def judged(files: Files, command: str) -> TestReport:
    """ESLint reports `==`; the tests are red if `save` is gone."""
    if command != LINT:
        is_whole = "save" in files["src/a.js"]
        return green(files, command).with_(
            runner="node:test",
            outcomes={"t": TestStatus.PASS if is_whole else TestStatus.FAIL},
            verdict=RunVerdict.PASS if is_whole else RunVerdict.FAIL,
        )
    if " == " not in files["src/a.js"]:
        return green(files, command).with_(runner="diagnostics")
    found = a_lint_failure("src/a.js", "eqeqeq", line=1, column=1, name="src/a.js:1:eqeqeq")
    return a_lint_report(found, verdict=RunVerdict.FAIL).with_(failures=(found,), target=LINT)


async def repaired(text: str, *offers: tuple[str, EditDoubt | None]) -> Candidate | None:
    """Return the candidate after offers of new texts."""

    def offered(files: Files, request: ProposalRequest) -> tuple[EditProposal, ...]:
        return tuple(
            EditProposal(
                finding=0,
                template="eslint_suggestion",
                cost=0.3,
                doubt=doubt,
                edits=(SpanEdit(path="src/a.js", start=0, end=len(files["src/a.js"]), text=new),),
            )
            for new, doubt in offers
        )

    files = {"src/a.js": text, "package.json": MANIFEST}
    workspace = FakeWorkspace(
        files,
        judge=judged,
        facts=facts(recipe=facts().recipe.with_(command=LINT)),
        proposer=offered,
    )
    context = a_running_mission(test_results=judged(files, LINT))
    proposed = SearchFixer(MemoryLessons()).propose(context, a_diagnosis(), workspace, FixBudget())
    (only,) = [one async for one in proposed]
    assert await workspace.changes() == ()
    return only if isinstance(only, Candidate) else None


async def test_the_first_offer_that_the_check_confirms_is_kept() -> None:
    offers = (("if (a == 1) save()\n", None), ("if (a === 1) save()\n", None))
    found = await repaired("if (a == 2) save()\n", *offers)
    assert found is not None
    assert found.changes[0].content == "if (a === 1) save()\n"
    assert found.confident


@pytest.mark.parametrize("doubt", EditDoubt)
async def test_an_edit_that_needs_a_person_is_a_question(doubt: EditDoubt) -> None:
    found = await repaired("if (a == 2) save()\n", ("if (a === 2) save()\n", doubt))
    assert found is not None
    assert not found.confident
    assert len(found.warnings) == 1


async def test_an_edit_that_makes_a_test_red_is_no_candidate() -> None:
    assert await repaired("if (a == 2) save()\n", ("a\n", None)) is None
