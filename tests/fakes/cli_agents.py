"""Command-line agents that never were: scripts in the place of `codex` and `claude` that replay their forms."""

import json
import os
import sys
from pathlib import Path
from typing import Any

PROGRAM = """\
#!{python} -ISs
import json, os, subprocess, sys, time
from pathlib import Path

here = Path(__file__).resolve().parent
script = json.loads((here / (Path(__file__).name + ".json")).read_text())
if sys.argv[1:] == ["--version"]:
    print(script["version"])
    sys.exit(0 if script["version"] else 3)
standard_input = sys.stdin.read()
calls = here / "calls.jsonl"
number = len(calls.read_text().splitlines()) if calls.exists() else 0
with calls.open("a") as file:
    said = {{"argv": sys.argv, "stdin": standard_input, "environment": dict(os.environ), "folder": os.getcwd(),
            "beside": sorted(os.listdir(os.getcwd())), "session": os.getsid(0) == os.getpid(), "pid": os.getpid()}}
    if "--output-schema" in sys.argv:
        said["schema"] = json.loads(Path(sys.argv[sys.argv.index("--output-schema") + 1]).read_text())
    file.write(json.dumps(said) + "\\n")
turn = script["turns"][min(number, len(script["turns"]) - 1)]
for words in turn.get("children", ()):
    apart = words == "apart"
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=apart)
    with (here / "children").open("a") as file:
        file.write(str(child.pid) + "\\n")
if turn.get("deaf"):
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if turn.get("last") is not None and "-o" in sys.argv:
    Path(sys.argv[sys.argv.index("-o") + 1]).write_text(turn["last"])
sys.stderr.write(turn.get("stderr", ""))
sys.stderr.flush()
for _ in range(turn.get("repeat", 1)):
    sys.stdout.write(turn.get("stdout", ""))
    sys.stdout.flush()
    time.sleep(turn.get("pause", 0))
time.sleep(turn.get("hang", 0))
sys.exit(turn.get("status", 0))
"""
VERSIONS = {"codex": "codex-cli 0.169.0", "claude": "2.1.197 (Claude Code)"}
RECONNECTING = (
    '{"type":"error","message":"Reconnecting... 1/5 (stream disconnected before completion)"}\n'
)
WAITING = '{"type":"error","message":"Reconnecting... waiting for network (Connection failed: error sending request)"}\n'


class FakeAgents:
    """A folder of such scripts.

    Args:
        folder: An empty one.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def environment(self) -> dict[str, str]:
        """Variables of a process that finds them, with some that are nobody's business."""
        path = f"{self.folder}:{os.environ['PATH']}"
        return {
            "PATH": path,
            "GITHUB_TOKEN": "ghs_never-to-be-seen",
            "AWS_SECRET_ACCESS_KEY": "never",
            "LANG": "C.UTF-8",
        }

    def install(self, program: str, *turns: dict[str, Any], version: str | None = None) -> None:
        """Put a script there.

        Args:
            program: `codex`.
            turns: What each call does, the last again and again: stdout, stderr, status, last, hang, repeat, pause,
                deaf, children (`near`: in its group, `apart`: in a session of its own).
            version: What it says its version is.
        """
        words = {"turns": turns, "version": VERSIONS[program] if version is None else version}
        (self.folder / f"{program}.json").write_text(json.dumps(words))
        script = self.folder / program
        script.write_text(PROGRAM.format(python=sys.executable))
        script.chmod(0o755)

    @property
    def calls(self) -> list[dict[str, Any]]:
        """How they were called."""
        file = self.folder / "calls.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    @property
    def children(self) -> list[int]:
        """The process ids of the children they left."""
        file = self.folder / "children"
        return [int(line) for line in file.read_text().split()] if file.exists() else []


def codex_says(text: str, **usage: int) -> str:
    """Its events around one message."""
    counted = {
        "input_tokens": 1000,
        "cached_input_tokens": 400,
        "output_tokens": 50,
        "reasoning_output_tokens": 20,
    }
    return _lines(
        {"type": "thread.started", "thread_id": "t-1"},
        {"type": "turn.started"},
        {
            "type": "item.completed",
            "item": {"id": "item_0", "type": "error", "message": "a warning of no weight"},
        },
        {
            "type": "item.completed",
            "item": {"id": "item_1", "type": "reasoning", "text": "thinking"},
        },
        {"type": "item.completed", "item": {"id": "item_2", "type": "agent_message", "text": text}},
        {"type": "turn.completed", "usage": {**counted, **usage}},
    )


def codex_fails(message: str) -> str:
    """Its events when a turn failed."""
    return _lines(
        {"type": "thread.started", "thread_id": "t-1"},
        {"type": "turn.started"},
        {"type": "error", "message": message},
        {"type": "turn.failed", "error": {"message": message}},
    )


def claude_says(text: str, **more: Any) -> str:
    """Its one object."""
    said = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "num_turns": 1,
        "result": text,
        "stop_reason": "end_turn",
        "session_id": "s-1",
        "total_cost_usd": 0.0125,
        "usage": {
            "input_tokens": 50,
            "cache_creation_input_tokens": 500,
            "cache_read_input_tokens": 1000,
            "output_tokens": 42,
        },
        "modelUsage": {"claude-test-1": {"costUSD": 0.0125}},
    }
    return json.dumps({**said, **more}) + "\n"


def _lines(*events: dict[str, Any]) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)
