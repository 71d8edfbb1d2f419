"""What a failed set-up could not get, in the words of the installers."""

import pytest

from bot.domain.mission import Outcome
from bot.mission.failures.setup_log import find_missing_part
from bot.mission.steps import classify_error
from sandbox.errors import SetupFailed

UV = """  x No solution found when resolving dependencies:
  `-> Because no-such-thing was not found in the package registry and you require
      no-such-thing==9.9.9, we can conclude that your requirements are unsatisfiable.
"""
UV_VERSION = """  x No solution found when resolving dependencies:
  `-> Because there is no version of requests==99.0 and you require requests==99.0, we can conclude ...
"""
UV_BUILD = "  x Failed to build `psycopg2==2.9.9`\n  |-> The build backend returned an error\n"


@pytest.mark.parametrize(
    ("log", "part"),
    [
        (UV, "there is no distribution `no-such-thing`"),
        (UV_VERSION, "there is no version `requests==99.0`"),
        (UV_BUILD, "`psycopg2==2.9.9` cannot be built"),
        (
            "ERROR: No matching distribution found for nope==1 (from -r x)",
            "no distribution of `nope==1` can be had",
        ),
        (
            "x.c:3:10: fatal error: libpq-fe.h: No such file or directory",
            "the header `libpq-fe.h` is not in the image",
        ),
        ("sh: 1: make: not found", "the program `make` is not in the image"),
        (
            "ERROR: Package 'x' requires a different Python: 3.11.7 not in '>=3.12'",
            "another Python",
        ),
        ("Because x==2 depends on Python>=3.12 and ...", "it wants Python >=3.12"),
        ("ModuleNotFoundError: No module named 'numpy'", "the module `numpy` is needed to build"),
        ("something else went wrong", ""),
        ("", ""),
    ],
)
def test_the_part_that_could_not_be_had_is_named(log: str, part: str) -> None:
    assert part in find_missing_part(log)
    assert bool(find_missing_part(log)) is bool(part)


def test_the_reason_of_the_mission_names_it() -> None:
    trouble = classify_error(
        SetupFailed("Set-up failed: could not install the requirements.", log=UV), "m:reproduce"
    )
    assert trouble.outcome is Outcome.ENV_UNBUILDABLE
    assert trouble.reason == (
        "Set-up failed: could not install the requirements: there is no distribution `no-such-thing`"
    )


def test_a_long_log_is_read_in_no_time() -> None:
    assert find_missing_part("There is no " * 100_000) == ""
