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


OLD = """def total(prices):
    rows = dict(tea=1)
    count = len(rows)
    for name in prices:
        rows[name] = prices[name]
    return sum(rows.values())
"""
NEW = OLD.replace("dict(tea=1)", '{"tea": 1}').replace("    count = len(rows)\n", "    len(rows)\n")
TEST = "from shop import total\n\n\ndef test_total():\n    assert total({'cup': 2}) == 3\n"


@pytest.mark.parametrize(
    ("command", "files", "expected"),
    [
        (
            "ruff check shop.py",
            {"pyproject.toml": '[tool.ruff.lint]\nselect = ["F", "C4"]\n'},
            NEW,
        ),
        ("flake8 --select F shop.py", {}, NEW.replace('{"tea": 1}', "dict(tea=1)")),
    ],
)
async def test_fixes_that_ruff_calls_unsafe_are_confirmed_by_the_check_and_the_tests(
    backend: Backend, tmp_path: Path, command: str, files: dict[str, str], expected: str
) -> None:
    repository = tmp_path / "repo"
    repository.mkdir()
    for name, text in {**files, "shop.py": OLD, "test_shop.py": TEST}.items():
        (repository / name).write_text(text)
    sandboxes = Sandboxes(SandboxSpec(), backend, tmp_path / "data")
    source = FolderSource(path=str(repository))
    checkout = Checkout(source=source, hints=JobHints(command=command))
    async with sandboxes.open_workspace(checkout) as workspace:
        report = await workspace.run_tests()
        context = a_running_mission(test_results=report)
        (found,) = [one async for one in fix_findings(context, report, workspace, FixBudget())]
    assert isinstance(found, Candidate), found
    assert found.changes[0].content == expected
    assert "ruff_fix" in found.template
    assert found.confident, found.warnings
