"""A small agent in a real sandbox: it reaches one model and nothing else, holds no key, and its edits come back."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from bot.domain.account import ModelLimits
from bot.domain.patch import Candidate, FixBudget, Rung
from bot.fixers.rung1_search.search_trials import SearchTrials
from bot.fixers.rung2_model.agent_worker import AgentWorker
from bot.ledger.calls import CallLedger
from bot.llm.agent_proxy import AgentModelProxies
from bot.llm.billing import Billing
from bot.llm.configured_agent import ConfiguredAgent
from bot.llm.prices import Prices
from bot.llm.providers.replies import HttpReply
from bot.mission.tree import rebase_workspace
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import ChangeAction, Checkout, FileChange, FolderSource
from sandbox.workspace import Sandboxes
from tests.builders import a_diagnosis, a_running_mission
from tests.databases import a_database
from tests.fakes.fixed_clock import FixedClock
from tests.fakes.memory_lessons import MemoryLessons
from tests.patience import stretched

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]

KEY = "sk-key-of-nobody-0123456789"
FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n",
}
AGENT = """
import json, os, socket, subprocess, sys, urllib.request
from pathlib import Path

task = sys.stdin.read()
found = {"environment": dict(os.environ), "task": task, "before": Path("mended.py").read_text()}
for name, address in (("network", ("192.0.2.1", 80)), ("metadata", ("169.254.169.254", 80))):
    try:
        socket.create_connection(address, timeout=2).close()
        found[name] = "reached"
    except OSError as error:
        found[name] = type(error).__name__
for path in ("/v1/files", "/v1/models"):
    try:
        urllib.request.urlopen(os.environ["MODEL_URL"] + path, timeout=10)
        found[path] = "reached"
    except OSError as error:
        found[path] = str(error)
red = subprocess.run([sys.executable, "-m", "pytest", "-q"], capture_output=True, text=True)
found["red"] = red.returncode
asked = {"model": "any", "messages": [{"role": "user", "content": json.dumps(found)}], "max_tokens": 50}
request = urllib.request.Request(
    os.environ["MODEL_URL"] + "/v1/chat/completions", json.dumps(asked).encode(), {"content-type": "application/json"}
)
answer = json.load(urllib.request.urlopen(request, timeout=60))
Path("calc.py").write_text(answer["choices"][0]["message"]["content"])
Path("test_calc.py").write_text("def test_add():\\n    pass\\n")
Path("scratch.txt").write_text("notes")
green = subprocess.run([sys.executable, "-m", "pytest", "-q"], capture_output=True, text=True)
sys.exit(green.returncode)
"""


class Oracle:
    """The model behind the door."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Mapping[str, str], dict[str, Any]]] = []

    async def post(self, path: str, headers: Mapping[str, str], body: bytes) -> HttpReply:
        self.heard.append((path, headers, json.loads(json.loads(body)["messages"][0]["content"])))
        told = {"choices": [{"message": {"content": FILES["calc.py"].replace("-", "+")}}]}
        usage = {"prompt_tokens": 1000, "completion_tokens": 20}
        return HttpReply(
            200, {"content-type": "application/json"}, json.dumps({**told, "usage": usage}).encode()
        )


async def test_an_agent_mends_a_program_through_its_door_and_reaches_nothing_else(
    docker_ready: None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for name, text in FILES.items():
        (tmp_path / "repo").mkdir(exist_ok=True)
        (tmp_path / "repo" / name).write_text(text)
    oracle = Oracle()
    # The program is read from a file: standard input is the task.
    served = ConfiguredAgent(
        kind="openai-chat",
        model="small",
        post=oracle.post,
        key=SecretStr(KEY),
        command=f"cat > /tmp/agent.py <<'END'\n{AGENT}\nEND\nexec python /tmp/agent.py",
    )
    till = Billing(CallLedger(a_database(tmp_path)), Prices("small=1/2"))
    worker = AgentWorker(
        AgentModelProxies(served, till, ModelLimits(), clock=FixedClock()),
        SearchTrials(MemoryLessons()),
    )
    sandboxes = Sandboxes(SandboxSpec(), DockerBackend(SandboxSpec(pool=0)), tmp_path / "data")

    async with sandboxes.open_workspace(
        Checkout(source=FolderSource(path=str(tmp_path / "repo")))
    ) as opened:
        before = (
            FileChange(action=ChangeAction.CREATE, path="mended.py", content="MENDED = True\n"),
        )
        await opened.apply_changes(before)
        workspace = rebase_workspace(opened, before)
        report = await workspace.run_tests()
        context = a_running_mission(test_results=report, facts=await workspace.facts())
        diagnosis = a_diagnosis(suspects=(), failures=report.failures)
        proposing = worker.propose(
            context, diagnosis, workspace, FixBudget(time_limit_s=stretched(120.0))
        )
        note, *candidates = [one async for one in proposing]
        assert [edit.path for edit in await workspace.changes()] == ["mended.py"], (
            "the tree is left as it was found"
        )

    (candidate,) = candidates
    assert isinstance(candidate, Candidate)
    assert (candidate.rung, candidate.fixer) == (Rung.MODEL, "agent")
    assert {change.path: change.content for change in candidate.changes} == {
        "calc.py": "def add(a, b):\n    return a + b\n"
    }
    assert any("2 other files" in warning for warning in candidate.warnings)
    assert note.cost_usd == pytest.approx(0.00104)

    ((path, headers, found),) = oracle.heard
    assert (path, headers) == ("/chat/completions", {"authorization": f"Bearer {KEY}"})
    assert "test_add" in found["task"]
    assert found["before"] == "MENDED = True\n", "the agent works on what was mended before"
    assert "reached" not in {
        found["network"],
        found["metadata"],
        found["/v1/files"],
        found["/v1/models"],
    }
    assert found["red"] == 1
    assert KEY not in str(found)
    assert not [name for name in found["environment"] if "proxy" in name.lower() or "KEY" in name]
    assert KEY not in caplog.text
