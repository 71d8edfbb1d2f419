"""Findings in TypeScript: edits of several files are combined only apart, and the package's tests have a say."""

import json

import pytest

from bot.domain.patch import Candidate, FixBudget, RungNote
from bot.fixers.rung1_search.engine import SearchFixer
from sandbox.types import (
    EditProposal,
    ProposalRequest,
    RunVerdict,
    SpanEdit,
    TestReport,
    TestStatus,
)
from tests.builders import (
    a_diagnosis,
    a_lint_failure,
    a_lint_report,
    a_running_mission,
    facts,
)
from tests.fakes.fake_workspace import FakeWorkspace, Files, Proposer, green
from tests.fakes.memory_lessons import MemoryLessons

pytestmark = pytest.mark.anyio
TSC = "npx tsc --noEmit"
WRONG, RIGHT = "nmae", "name"


def tsc(files: Files, command: str = TSC) -> TestReport:
    """A compiler that reports one wrong name."""
    found = [
        a_lint_failure(
            path, "TS2339", line=1, column=text.index(WRONG) + 1, name=f"{path}:1:TS2339"
        )
        for path, text in sorted(files.items())
        if path.endswith(".ts") and WRONG in text
    ]
    if found:
        return a_lint_report(*found, verdict=RunVerdict.FAIL).with_(
            failures=tuple(found), target=command
        )
    return green(files, command).with_(runner="diagnostics")


def passing(files: Files, command: str) -> TestReport:
    return green(files, command).with_(runner="vitest", outcomes={"t": TestStatus.PASS})


def renamed(files: Files, path: str) -> SpanEdit:
    start = files[path].encode().index(WRONG.encode())
    return SpanEdit(path=path, start=start, end=start + len(WRONG), text=RIGHT)


def one_by_one(files: Files, request: ProposalRequest) -> tuple[EditProposal, ...]:
    return tuple(
        EditProposal(
            finding=number, template="ts_name", cost=0.1, edits=(renamed(files, finding.path),)
        )
        for number, finding in enumerate(request.findings)
    )


def all_at_once(files: Files, request: ProposalRequest) -> tuple[EditProposal, ...]:
    """Every finding is answered with one edit of all files."""
    paths = [path for path, text in files.items() if path.endswith(".ts") and WRONG in text]
    edits = tuple(renamed(files, path) for path in paths)
    return tuple(
        EditProposal(finding=number, template="ts_declaration", cost=0.1, edits=edits)
        for number in range(len(request.findings))
    )


async def repaired(
    files: dict[str, str], *, proposer: Proposer = one_by_one
) -> tuple[Candidate | RungNote, FakeWorkspace]:
    workspace = FakeWorkspace(
        files,
        judge=lambda now, command: (tsc if command == TSC else passing)(now, command),
        facts=facts(recipe=facts().recipe.with_(command=TSC)),
        proposer=proposer,
    )
    context = a_running_mission(test_results=tsc(files))
    proposed = SearchFixer(MemoryLessons()).propose(context, a_diagnosis(), workspace, FixBudget())
    (only,) = [one async for one in proposed]
    return only, workspace


@pytest.mark.parametrize(
    ("script", "command", "doubt"),
    [
        ("vitest run", "npx vitest run", ()),
        ("node --test src", "node --test src", ()),
        ("node scripts/test.js", "npm test", ()),
        (None, None, ("no tests were run: only the check validated this",)),
    ],
)
async def test_the_tests_of_the_package_are_run(
    script: str | None, command: str | None, doubt: tuple[str, ...]
) -> None:
    manifest = json.dumps({"scripts": {"test": script}} if script else {})
    found, workspace = await repaired({"src/a.ts": "user.nmae\n", "package.json": manifest})
    assert isinstance(found, Candidate), found
    assert found.changes[0].content == "user.name\n"
    assert found.warnings == doubt
    assert (command in workspace.commands) is (command is not None)
    (request,) = workspace.asked
    assert (request.command, request.step) == (TSC, 1)


async def test_a_package_file_that_cannot_be_read_is_no_test_command() -> None:
    for manifest in ("[" * 100_000, "{", "[]", '{"scripts": 1}'):
        found, _ = await repaired({"src/a.ts": "user.nmae\n", "package.json": manifest})
        assert isinstance(found, Candidate), found
        assert found.warnings == ("no tests were run: only the check validated this",)


async def test_edits_that_touch_the_same_places_are_not_applied_twice() -> None:
    files = {"src/a.ts": "user.nmae\n", "src/b.ts": "client.nmae\n"}
    found, _ = await repaired(files, proposer=all_at_once)
    assert isinstance(found, Candidate), found
    assert {change.path: change.content for change in found.changes} == {
        "src/a.ts": "user.name\n",
        "src/b.ts": "client.name\n",
    }
    assert found.candidates_tried == 1


async def test_an_edit_that_is_a_guess_is_not_confident() -> None:
    def guessed(files: Files, request: ProposalRequest) -> tuple[EditProposal, ...]:
        return tuple(one.with_(cost=0.8) for one in one_by_one(files, request))

    manifest = json.dumps({"scripts": {"test": "vitest run"}})
    files = {"src/a.ts": "user.nmae\n", "package.json": manifest}
    sure, _ = await repaired(files)
    unsure, _ = await repaired(files, proposer=guessed)
    assert isinstance(sure, Candidate)
    assert isinstance(unsure, Candidate)
    assert (sure.confident, unsure.confident) == (True, False)
    assert "it adds or removes code by a guess" in unsure.warnings


def clear_first(files: Files, request: ProposalRequest) -> tuple[EditProposal, ...]:
    """Return a clear edit, which leaves the error unless the file says `clear`, and then others."""
    (good,) = one_by_one(files, request)
    wrong = good.edits[0].with_(text=RIGHT if "clear" in files["src/a.ts"] else WRONG + "e")
    clear = good.with_(edits=(wrong,), cost=0.1, is_clear=request.only_clear)
    return (clear,) if request.only_clear else (clear, good.with_(cost=0.5))


async def test_other_edits_are_tried_only_if_a_clear_one_fails() -> None:
    found, workspace = await repaired({"src/a.ts": "clear.nmae\n"}, proposer=clear_first)
    assert isinstance(found, Candidate), found
    assert [request.only_clear for request in workspace.asked] == [True]
    found, workspace = await repaired({"src/a.ts": "user.nmae\n"}, proposer=clear_first)
    assert isinstance(found, Candidate), found
    assert found.changes[0].content == "user.name\n"
    assert found.candidates_tried == 2
    assert [request.only_clear for request in workspace.asked] == [True, False]
