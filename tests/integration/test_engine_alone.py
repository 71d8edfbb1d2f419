"""The engine talks to its database and to nobody else."""

import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.missing import missing
from tests.patience import COMMAND_S

ROOT = Path(__file__).resolve().parents[2]
MISSION = """
import asyncio, sys
from tests.contract.test_queue import Missions, a_request, ended
from bot.queue.engine import DurableEngine, EngineTiming

async def main():
    engine = DurableEngine(sys.argv[1], Missions().handlers(), pace=EngineTiming(poll_s=0.05))
    await engine.launch()
    await engine.submit(a_request("m-1"))
    print(await ended(engine, "m-1"))
    await engine.close()

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_mission_is_done_where_there_is_no_network_at_all(tmp_path: Path) -> None:
    alone = [shutil.which("unshare") or "unshare", "--net", "--map-root-user"]
    if shutil.which("unshare") is None or subprocess.run([*alone, "true"], check=False).returncode:
        missing("a network namespace of one's own needs `unshare`, and the right to use it")
    command = [*alone, sys.executable, "-c", MISSION, f"sqlite:///{tmp_path}/engine.sqlite"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=COMMAND_S, check=False
    )
    assert (done.stdout.strip(), done.returncode) == ("done", 0), done.stderr


def test_nothing_of_the_vendor_s_enterprise_is_installed_or_locked() -> None:
    assert find_spec("dbos_enterprise") is None
    for lock in ROOT.glob("requirements*.lock"):
        assert "enterprise" not in lock.read_text(), lock.name
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert [one.partition("~")[0] for one in wanted if one.startswith("dbos")] == ["dbos"], (
        "without extras"
    )
