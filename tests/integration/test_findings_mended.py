"""Rung 1 on findings of the real ruff and mypy, on small files written for it: from the red check to the green one."""

from pathlib import Path

import pytest

from bot.domain.diagnosis import FailureKind
from bot.domain.patch import Candidate, FixBudget, RungNote
from bot.fixers.rung1_search.engine import SearchFixer
from sandbox.changes import ChangePolicy, validate_edits
from sandbox.types import FileEdit
from tests.builders import a_diagnosis, a_running_mission
from tests.fakes.checked_workspace import CheckedWorkspace
from tests.fakes.memory_lessons import MemoryLessons
from tests.patience import stretched

pytestmark = pytest.mark.anyio
RUFF = "ruff check --no-cache --isolated --output-format concise --select E,F,W,B,PLW1510,RUF059 ."
MYPY = "mypy --strict --no-error-summary --config-file= --cache-dir=../cache ."


async def mended(folder: Path, files: dict[str, str], command: str) -> Candidate | RungNote:
    (folder / "repo").mkdir()
    workspace = CheckedWorkspace(folder / "repo", files, command)
    report = await workspace.run_tests()
    assert report.failing
    context = a_running_mission(test_results=report)
    fixer = SearchFixer(MemoryLessons())
    diagnosis = a_diagnosis(kind=FailureKind.LINT, failures=report.failures)
    found = [
        one
        async for one in fixer.propose(
            context, diagnosis, workspace, FixBudget(time_limit_s=stretched(240))
        )
    ]
    (only,) = found
    if isinstance(only, Candidate):
        await workspace.apply_changes(only.changes)
        assert (await workspace.run_tests()).success
        edits = [
            FileEdit(path=c.path, mode="100644", content=(c.content or "").encode())
            for c in only.changes
        ]
        originals: dict[str, bytes | None] = {path: text.encode() for path, text in files.items()}
        assert validate_edits(edits, originals, ChangePolicy()).accepted
    return only


def changed(found: Candidate | RungNote) -> dict[str, str]:
    assert isinstance(found, Candidate), found
    return {change.path: change.content or "" for change in found.changes}


async def test_findings_of_ruff_without_a_safe_fix_are_mended_together(tmp_path: Path) -> None:
    files = {
        "shop.py": (
            "def total(prices=[]):\n    sum_ = 0\n    for p in prices:\n        if p == None:\n            continue\n"
            "        sum_ += p\n    count = len(prices)\n    return sum_\n\n\n"
            "def load(path):\n    try:\n        return open(path)\n    except:\n        return None\n"
        ),
        "names.py": "def shout(word):\n    return wrod.upper()\n\n\ndouble = lambda x: 2 * x\n",
    }
    found = changed(await mended(tmp_path, files, RUFF))
    assert "is None" in found["shop.py"]
    assert "except Exception:" in found["shop.py"]
    assert "prices=None" in found["shop.py"]
    assert "return word.upper()" in found["names.py"]
    assert "def double(x):" in found["names.py"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (
            "import re\n\n\ndef first(text: str) -> str:\n    found = re.match(r'\\w+', text)\n    return found.group(0)\n",
            "if found is None:",
        ),
        ("def size(text: str) -> str:\n    return len(text)\n", "-> int:"),
        (
            "def half(number: int) -> int | None:\n    if number % 2 == 0:\n        return number // 2\n",
            "return None",
        ),
        (
            "def grow(number: int, by: int = None) -> int:\n    return number + (by or 1)\n",
            "by: int | None = None",
        ),
        ("def shout(word: str) -> str:\n    return word.uper()\n", "word.upper()"),
        ("def say(word: str) -> None:\n    print(word)\n\n\nsay(wrd='a')\n", "say(word='a')"),
        (
            "seen = {}\n\n\ndef see(word: str) -> None:\n    seen[word] = 1\n",
            "seen: dict[str, int] = {}",
        ),
        (
            "def say() -> None:\n    data: Optional[str] = None\n    print(data)\n",
            "from typing import Optional",
        ),
    ],
)
async def test_a_finding_of_mypy_is_mended(tmp_path: Path, source: str, wanted: str) -> None:
    assert wanted in changed(await mended(tmp_path, {"shop.py": source}, MYPY))["shop.py"]
