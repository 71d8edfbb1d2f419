"""Projects tested with unittest reach the search as projects with pytest do."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import COMMAND_S

PROGRAM = '''"""Seats in a hall."""


class Hall:
    """A hall with a number of seats.

    Args:
        seats: How many there are.
    """

    def __init__(self, seats: int) -> None:
        self.seats = seats
        self.taken = 0

    def book(self, wanted: int) -> bool:
        """Take seats if there are enough."""
        if wanted <= 0 or wanted > self.free():
            return False
        self.taken += wanted
        return True

    def free(self) -> int:
        """Seats that nobody has taken."""
        return self.seats - self.taken
'''
TESTS = """import unittest

from hall import Hall


class Booking(unittest.TestCase):
    def setUp(self):
        self.hall = Hall(10)

    def test_a_booking_takes_seats(self):
        self.assertTrue(self.hall.book(4))
        self.assertEqual(self.hall.free(), 6)

    def test_no_more_than_there_are(self):
        self.assertTrue(self.hall.book(9))
        self.assertFalse(self.hall.book(2))
        self.assertEqual(self.hall.free(), 1)

    def test_all_of_them(self):
        self.assertTrue(self.hall.book(10))
        self.assertEqual(self.hall.free(), 0)

    def test_nothing_is_no_booking(self):
        self.assertFalse(self.hall.book(0))
        self.assertFalse(self.hall.book(-3))
        self.assertEqual(self.hall.free(), 10)


if __name__ == "__main__":
    unittest.main()
"""


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize("command", ["python -m unittest", "python -m unittest test_hall -v"])
def test_a_red_unittest_project_is_fixed_by_the_search(
    tmp_path: Path, docker_ready: None, command: str
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "hall.py").write_text(PROGRAM)
    (tree / "test_hall.py").write_text(TESTS)
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "green"]):
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words]
        subprocess.run(git, cwd=tree, check=True)
    (tree / "hall.py").write_text(
        PROGRAM.replace("self.seats - self.taken", "self.seats + self.taken")
    )
    environment = {k: v for k, v in os.environ.items() if not k.startswith("METAAGENT_")}
    environment["METAAGENT_DATA_DIR"] = str(tmp_path / "data")
    words = [sys.executable, "-m", "bot", "fix", str(tree), "--test", command, "--json"]
    done = subprocess.run(
        words, capture_output=True, text=True, env=environment, timeout=COMMAND_S, check=False
    )
    result = json.loads(done.stdout)
    assert (result["outcome"], result["rung"]) == ("FIXED", 1), result
    assert "+        return self.seats - self.taken" in result["diff"]
