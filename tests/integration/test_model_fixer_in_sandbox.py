"""A model's changes in a real sandbox: tried, told, completed by the search, and the tree left as it was found."""

from pathlib import Path

import pytest

from bot.domain.account import ModelLimits
from bot.domain.diagnosis import Suspect
from bot.domain.model import Question
from bot.domain.patch import Candidate, FixBudget, Rung
from bot.fixers.rung1_search.search_trials import SearchTrials
from bot.fixers.rung2_model.fixer import ModelFixer
from bot.fixers.trials import Failure, Proposed
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import ChangeAction, Checkout, FileChange, FolderSource
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
        "def test_book():\n    assert total(100, 'book') == 125\n\n\n"
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


def works_in_steps(question: Question) -> str:
    """Find a bug in two files by what the tools show, and fix one file at a time."""
    found = question.gaps["feedback"]
    assert isinstance(found, tuple)
    seen = "\n".join(f"{one.label}\n{one.text}" for one in found)
    if "your edits are kept" not in seen:
        if "shop/rates.py, lines" not in seen:
            names = "read shop/rates.py\nread shop/invoice.py\ntest test_invoice.py::test_rate"
            return f"```tool\nlist shop\nsearch rate(\n{names}\n```\n"
        assert "assert 250 == 0.25" in seen, "the test tool shows the failure"
        return EDIT.format(LINE, LINE, 100)
    minus = "    return price - price * rate(kind)"
    edit = f"<<<<<<< SEARCH\n{minus}\n=======\n{minus.replace('-', '+')}\n>>>>>>> REPLACE"
    return f"shop/invoice.py\n{edit}\n```tool\ndone the rate was a percentage and subtracted\n```\n"


async def test_our_own_agent_fixes_a_bug_in_two_files_in_three_steps(
    docker_ready: None, tmp_path: Path
) -> None:
    for name, text in FILES.items():
        (tmp_path / "repo" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "repo" / name).write_text(text)
    mind = ScriptedMind({"fix_agent": [works_in_steps]})
    trials = SearchTrials(MemoryLessons(), ranking_s=stretched(40.0))
    fixer = ModelFixer(mind, trials, ModelLimits(fix="agent"))
    sandboxes = Sandboxes(SandboxSpec(), DockerBackend(SandboxSpec(pool=0)), tmp_path / "data")

    async with sandboxes.open_workspace(
        Checkout(source=FolderSource(path=str(tmp_path / "repo")))
    ) as workspace:
        report = await workspace.run_tests()
        diagnosis = a_diagnosis(suspects=(), failures=report.failures)
        context = a_running_mission(test_results=report, facts=await workspace.facts())
        budget = FixBudget(model_time_limit_s=stretched(300.0), time_limit_s=stretched(300.0))
        proposing = fixer.propose(context, diagnosis, workspace, budget)
        candidate, *_ = [one async for one in proposing if isinstance(one, Candidate)]
        assert await workspace.changes() == ()

    made = {change.path: change.content or "" for change in candidate.changes}
    assert "/ 100" in made["shop/rates.py"]
    assert "price + price * rate(kind)" in made["shop/invoice.py"]
    assert "the rate was a percentage and subtracted" in candidate.explanation
    assert not candidate.partial
    assert len(mind.asked("fix_agent")) == 3


BEFORE = "def total(a, b):\n    return a - b\n\n\ndef twice(a):\n    return total(a, a)\n"
CALC = {
    "calc.py": BEFORE,
    "test_calc.py": (
        "from calc import total, twice\n\n\ndef test_total():\n    assert total(2, 2) == 4\n\n\n"
        "def test_nothing():\n    assert twice(0) == 0\n"
    ),
}


def a_change_of_calc(name: str, operator: str, **more: object) -> Proposed:
    content = BEFORE.replace("a - b", f"a {operator} b")
    change = FileChange(action=ChangeAction.REPLACE, path="calc.py", content=content)
    return Proposed(id=name, title=name, changes=(change,)).with_(**more)


async def test_a_models_change_is_compared_with_a_doubted_one_of_the_search(
    docker_ready: None, tmp_path: Path
) -> None:
    (tmp_path / "repo").mkdir()
    for name, text in CALC.items():
        (tmp_path / "repo" / name).write_text(text)
    sandboxes = Sandboxes(SandboxSpec(), DockerBackend(SandboxSpec(pool=0)), tmp_path / "data")
    right = a_change_of_calc("right", "+")
    searched = {"rung": Rung.SEARCH, "fixer": "search", "template": "swap_operator"}
    absurd = a_change_of_calc("absurd", "*", **searched)
    same = a_change_of_calc("same", "+", **searched)

    async with sandboxes.open_workspace(
        Checkout(source=FolderSource(path=str(tmp_path / "repo")))
    ) as workspace:
        report = await workspace.run_tests()
        suspect = Suspect(file="calc.py", line=2, score=0.8, reason="called")
        diagnosis = a_diagnosis(suspects=(suspect,), failures=report.failures)
        context = a_running_mission(test_results=report, facts=await workspace.facts())
        failure = Failure(context, diagnosis, workspace)
        trials = SearchTrials(MemoryLessons(), ranking_s=stretched(40.0))

        async def score_beside(*rivals: Proposed) -> tuple[float, dict[str, Candidate]]:
            limit = stretched(90.0)
            tried = await trials.try_changes(failure, [right], time_limit_s=limit, rivals=rivals)
            found = {one.proposed.id: one.candidate for one in tried if one.candidate}
            return found["right"].score, found

        alone, _ = await score_beside()
        agreed, found = await score_beside(same)
        assert {one.behaviours for one in found.values()} == {1}
        rivalled, found = await score_beside(absurd)
        assert await workspace.changes() == ()

    assert rivalled < alone < agreed
    (rival,) = found["right"].rivals
    assert rival.candidate_id == "absurd"
    assert rival.distinguishing_input
    assert rival.results[0] != rival.results[1]
    assert [one.candidate_id for one in found["absurd"].rivals] == ["right"]
    assert found["absurd"].template == "swap_operator"
