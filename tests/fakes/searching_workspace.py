"""SearchingWorkspace: a checkout in memory whose tests look at the text, and a search that knows a few replacements."""

from collections.abc import AsyncIterator, Mapping, Sequence

from typing_extensions import override

from sandbox.types import (
    Profile,
    RunVerdict,
    SearchNearMiss,
    SearchRequest,
    SpanEdit,
    Survivor,
    SurvivorComparison,
    TestReport,
    TestResult,
    TestStatus,
    TrialDone,
    TrialEvent,
    apply_spans,
    group_by_file,
)
from tests.fakes.fake_workspace import FakeWorkspace, Files

Wants = Mapping[str, tuple[str, str]]
"""Test to the file it looks at and the text it wants to see there."""


class SearchingWorkspace(FakeWorkspace):
    """A workspace that really tries.

    Args:
        files: The checkout.
        wants: The tests.
        replacements: What the search tries: old and new text, in every Python file.
        seconds: How long a run says it took.
        runner: The runner that reports.
    """

    def __init__(
        self,
        files: Mapping[str, str],
        wants: Wants,
        replacements: Sequence[tuple[str, str]] = (),
        *,
        seconds: float = 0.1,
        runner: str = "pytest",
    ) -> None:
        super().__init__(files, judge=self._judged)
        self._wants = wants
        self._replacements = replacements
        self._seconds = seconds
        self._runner = runner

    def report(self, files: Files) -> TestReport:
        """How the tests go with these files."""
        outcomes = {
            name: TestStatus.PASS if text in files.get(path, "") else TestStatus.FAIL
            for name, (path, text) in self._wants.items()
        }
        failing = [name for name, status in outcomes.items() if status is TestStatus.FAIL]
        return TestReport(
            success=not failing,
            failed=bool(failing),
            exit_code=int(bool(failing)),
            target="pytest -q",
            summary=f"{len(failing)} failed",
            failure_count=len(failing),
            failures=tuple(
                TestResult(name=name, status=TestStatus.FAIL, error="AssertionError", output=f"{self._wants[name][1]!r} is missing")
                for name in failing
            ),
            verdict=RunVerdict.FAIL if failing else RunVerdict.PASS,
            runner=self._runner,
            outcomes=outcomes,
            duration_s=self._seconds,
        )  # fmt: skip

    def _judged(self, files: Files, command: str) -> TestReport:
        return self.report(files)

    @override
    async def search(self, request: SearchRequest) -> AsyncIterator[TrialEvent]:
        self.searches.append(request)
        told = of_given = 0
        for template, edits, description in self._candidates(request):
            if template != "given" and of_given and request.given_may_end:
                break
            now = self.report(self._with(edits))
            mended = tuple(sorted(now.passing & set(request.failing)))
            about = {
                "template": template,
                "path": edits[0].path,
                "line": 1,
                "edits": edits,
                "description": description,
            }
            if set(request.passing) & now.failing or not mended:
                continue
            if len(mended) < len(request.failing):
                yield SearchNearMiss.model_validate({**about, "fixed": mended})
            else:
                told += 1
                of_given += template == "given"
                yield Survivor.model_validate({**about, "cost": 1.0, "suspicion": 1.0})
        if told:
            profiles = (Profile(inputs=9),) * told
            yield SurvivorComparison(clusters=tuple(range(told)), profiles=profiles, inputs=9)
        if of_given and request.given_may_end:
            yield TrialDone(reason="enough", tried=len(request.given))
        else:
            yield TrialDone(reason="exhausted", tried=5)

    def _candidates(self, request: SearchRequest) -> list[tuple[str, tuple[SpanEdit, ...], str]]:
        found = [("given", change.edits, change.description) for change in request.given]
        if "functions" not in request.sources:
            return found
        for path, text in self.texts().items():
            for old, new in self._replacements:
                if path.endswith(".py") and (at := text.find(old)) >= 0:
                    edit = SpanEdit(path=path, start=at, end=at + len(old), text=new)
                    found.append(("change_text", (edit,), f"`{old}` became `{new}`"))
        return found

    def _with(self, edits: tuple[SpanEdit, ...]) -> Files:
        files = self.texts()
        return {
            **files,
            **{
                path: apply_spans(files[path], of_file)
                for path, of_file in group_by_file(edits).items()
            },
        }
