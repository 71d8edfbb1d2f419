"""A model's changes in a real sandbox: tried, told, completed by the search, and the tree left as it was found."""

from pathlib import Path

import pytest

from bot.domain.account import ModelLimits
from bot.domain.diagnosis import Suspect
from bot.domain.patch import Candidate, FixBudget, Rung
from bot.fixers.rung1_search.search_trials import SearchTrials
from bot.fixers.rung2_model.fixer import ModelFixer
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, FolderSource
from sandbox.workspace import Sandboxes
from tests.builders import a_diagnosis, a_running_mission
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.scripted_mind import ScriptedMind
from tests.patience import stretched

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]

FILES = {
    "shop/__init__.py": "",
    "shop/rates.py": "def rate(kind):\n    return {'book': 25, 'other': 50}[kind] * 10\n",
    "shop/invoice.py": (
        "from shop.rates import rate\n\n\ndef total(price, kind):\n    return price - price * rate(kind)\n"
    ),
    "test_invoice.py": (
        "from shop.invoice import total\nfrom shop.rates import rate\n\n\n"
        "def test_rate():\n    assert rate('book') == 0.25\n\n\n"
        "def test_total():\n    assert total(100, 'other') == 150\n\n\n"
        "def test_nothing():\n    assert total(0, 'book') == 0\n"
    ),
}
EDIT = "shop/rates.py\n<<<<<<< SEARCH\n{} * 10\n=======\n{} / {}\n>>>>>>> REPLACE\n"
LINE = "    return {'book': 25, 'other': 50}[kind]"


async def test_half_of_a_fix_by_a_model_is_completed_by_the_search(
    docker_ready: None, tmp_path: Path
) -> None:
    for name, text in FILES.items():
        (tmp_path / "repo" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "repo" / name).write_text(text)
    answers = [EDIT.format(LINE, LINE, 10), EDIT.format(LINE, LINE, 100)]
    mind = ScriptedMind({"fix": answers})
    fixer = ModelFixer(mind, SearchTrials(MemoryLessons()), ModelLimits(samples=2, rounds=1))
    sandboxes = Sandboxes(SandboxSpec(), DockerBackend(SandboxSpec(pool=0)), tmp_path / "data")

    async with sandboxes.open_workspace(
        Checkout(source=FolderSource(path=str(tmp_path / "repo")))
    ) as workspace:
        report = await workspace.run_tests()
        suspects = tuple(
            Suspect(file=file, line=line, score=0.8, reason="called")
            for file, line in (("shop/invoice.py", 5), ("shop/rates.py", 2))
        )
        diagnosis = a_diagnosis(suspects=suspects, failures=report.failures)
        context = a_running_mission(test_results=report, facts=await workspace.facts())
        proposing = fixer.propose(
            context, diagnosis, workspace, FixBudget(time_limit_s=stretched(120.0))
        )
        candidate, *_ = [one async for one in proposing if isinstance(one, Candidate)]
        assert await workspace.changes() == ()

    assert (candidate.rung, candidate.fixer) == (Rung.MODEL, "model+search")
    made = {change.path: change.content or "" for change in candidate.changes}
    assert "/ 100" in made["shop/rates.py"]
    assert "price + price * rate(kind)" in made["shop/invoice.py"]
    assert len(mind.questions) == 2
