"""Pull requests from forks: what the code of one sets up never reaches another."""

from pathlib import Path

import pytest

from tests.acceptance.conftest import told
from tests.demo.bot_process import BotProcess
from tests.demo.story import wait, wait_for_ci
from tests.github_server.server import LocalGitHub

pytestmark = [pytest.mark.docker, pytest.mark.shared, pytest.mark.slow]
NAME = "acme/shop"
DEPS = """set -e
site=$(python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo 'RATE = 3' > "$site/rates.py"
"""
PLANT = """cat > "$site/planted.pth" <<'END'
import sys, types; sys.modules["prices"] = types.ModuleType("prices"); sys.modules["prices"].total = lambda n: "planted"
END
"""
GREEN = {
    ".github/metaagent.yml": "automatic: false\nsetup: [sh deps.sh]\n",
    "deps.sh": DEPS,
    "prices.py": "from rates import RATE\n\n\ndef total(pieces):\n    return pieces * RATE\n",
    "tests/test_prices.py": (
        "from prices import total\n\n\ndef test_total():\n    assert total(2) == 6\n\n\n"
        "def test_nothing():\n    assert total(0) == 0\n"
    ),
    "conftest.py": "",
}
RED = {"prices.py": GREEN["prices.py"].replace("*", "+")}


def answer_to(github: LocalGitHub, fork: str, changes: dict[str, str], options: str = "") -> str:
    """Return the answer to `/metaagent fix` by a writer in a fork's pull request."""
    github.fork(NAME, fork)
    sha = github.push(
        f"{fork}/shop", "faster", {**RED, **changes}, message="Make it faster", author=fork
    )
    number = github.open_pull_request(
        NAME, f"{fork}:faster", user=fork, title="Faster prices"
    ).number
    wait_for_ci(github, sha)
    github.comment(NAME, number, "ann", f"/metaagent fix{options}")

    def reports() -> list[str]:
        return [
            comment.body
            for comment in github.comments(NAME, number)
            if "metaagent:mission=" in comment.body
        ]

    wait(lambda: bool(reports()), 180, f"the answer to {fork}")
    return reports()[0]


def test_a_fork_plants_nothing_in_the_set_up_of_another(
    github: LocalGitHub, tmp_path: Path, docker_ready: None
) -> None:
    with BotProcess(github, tmp_path / "bot") as bot:
        try:
            github.create_repository("acme", "shop", GREEN, ci="true")
            github.set_permission(NAME, "ann", "write")
            planted = answer_to(
                # Nothing is found; the search need not use all of its time.
                github,
                "mallory",
                {"deps.sh": DEPS + PLANT},
                options=" --time-limit=15",
            )
            honest = answer_to(github, "bob", {})
        finally:
            told(github, bot)
    # With what was planted no edit makes the tests pass, as the attacker's own mission finds out.
    assert "FIXED" not in planted
    assert "FIXED" in honest
    assert "return pieces * RATE" in honest
