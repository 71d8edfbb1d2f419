"""Findings in the real sandbox: proposals are made and tried there, and the checkout is left as it was."""

from pathlib import Path

import pytest

from bot.domain.patch import Candidate, FixBudget
from bot.fixers.rung1_search.finding_reports import is_about_findings
from bot.fixers.rung1_search.findings import fix_findings
from sandbox.backends.base import Backend
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, FolderSource, JobHints, ProposalRequest, ToolFinding
from sandbox.workspace import Sandboxes
from tests.builders import a_running_mission

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]
GOOD = "def double(number):\n    return number * 2\n\n\ndef half(number):\n    return number / 2\n"


@pytest.fixture(scope="module")
def backend(docker_ready: None) -> Backend:
    return DockerBackend(SandboxSpec(pool=0))


async def test_a_file_that_does_not_compile_is_mended_by_its_own_check(
    backend: Backend, tmp_path: Path
) -> None:
    repository = tmp_path / "repo"
    repository.mkdir()
    (repository / "maths.py").write_text(GOOD.replace("half(number):", "half(number:"))
    (repository / "test_maths.py").write_text(
        "from maths import half\n\n\ndef test_half():\n    assert half(4) == 2\n"
    )
    (repository / "link.py").symlink_to("/etc/hostname")
    hints = JobHints(command="python -m compileall -q -f maths.py")
    sandboxes = Sandboxes(SandboxSpec(), backend, tmp_path / "data")
    async with sandboxes.open_workspace(
        Checkout(source=FolderSource(path=str(repository)), hints=hints)
    ) as workspace:
        report = await workspace.run_tests()
        assert is_about_findings(report), report.summary
        before = await workspace.changes()
        request = ProposalRequest(
            findings=(
                ToolFinding(path="link.py", line=1, code="E711"),
                ToolFinding(path="maths.py", line=5, code="SyntaxError"),
            )
        )
        proposals = await workspace.proposals(request)
        assert {proposal.finding for proposal in proposals} == {1}
        assert await workspace.changes() == before
        context = a_running_mission(test_results=report)
        found = [one async for one in fix_findings(context, report, workspace, FixBudget())]
        assert await workspace.changes() == before
    (candidate,) = found
    assert isinstance(candidate, Candidate), candidate
    assert candidate.changes[0].content == GOOD
    assert candidate.warnings == ()
