"""What two releases differ in is parted as a diff parts it, and only small changes of behaviour count as fixes."""

import json

import pytest

from benchmarks.sets.built import HERE
from benchmarks.sets.releases import Hunk, hunks, may_be_a_fix

OLD = '''"""Ages."""

import math

VERSION = "1.0"


def round_down(number: float) -> int:
    """Said."""
    return int(number)


def is_adult(age: float) -> bool:
    # whole years
    years = round_down(age)
    return years > 18


def is_old(age: float) -> bool:
    return age > 99
'''


def changed(*changes: tuple[str, str]) -> str:
    """The newer release."""
    text = OLD
    for old, new in changes:
        assert text.count(old) == 1
        text = text.replace(old, new)
    return text


def fixes(*changes: tuple[str, str]) -> list[Hunk]:
    """The hunks that count."""
    new = changed(*changes)
    return [hunk for hunk in hunks(OLD, new) if may_be_a_fix(hunk, new)]


def test_each_hunk_is_put_back_by_itself() -> None:
    first, second = ("int(number)", "math.floor(number)"), ("age > 99", "age >= 99")
    found = fixes(first, second)
    assert [hunk.text for hunk in found] == [changed(second), changed(first)]
    assert [hunk.first for hunk in found] == [10, 20]
    assert all(hunk.first in hunk.lines for hunk in found)


def test_changes_that_lie_close_are_one_hunk() -> None:
    (hunk,) = fixes(("round_down(age)", "math.floor(age)"), ("years > 18", "years >= 18"))
    assert hunk.text == OLD
    assert hunk.kind == "lines changed"


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("years > 18", "years >= 18", "one line changed"),
        (
            "    return years > 18",
            "    if years > 200:\n        raise ValueError\n    return years > 18",
            "lines added",
        ),
        ("    years = round_down(age)\n    return years", "    return age", "lines changed"),
        ("    years = round_down(age)\n", "", "lines removed"),
    ],
)
def test_a_hunk_says_what_the_newer_release_did(old: str, new: str, kind: str) -> None:
    (hunk,) = fixes((old, new))
    assert hunk.kind == kind


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""Said."""', '"""Said better."""'),
        ("# whole years", "# in years"),
        ("is_adult(age: float)", "is_adult(age: int)"),
        ("import math\n", "import math\nimport os\n"),
        ('VERSION = "1.0"', '__version__ = "1.1"'),
        (
            "    years = round_down(age)",
            "    warnings.warn('no more', stacklevel=2)\n    years = round_down(age)",
        ),
        ("def is_old(", "def is_young(age: float) -> bool:\n    return age < 1\n\n\ndef is_old("),
        ("    years = round_down(age)", "\n".join(f"    years = {n}" for n in range(9))),
    ],
    ids=["docstring", "comment", "annotation", "import", "version", "warning", "function", "long"],
)
def test_what_is_no_fix_is_left_out(old: str, new: str) -> None:
    assert list(hunks(OLD, changed((old, new))))
    assert not fixes((old, new))


def test_a_text_that_is_no_program_is_left_out() -> None:
    new = changed(("return age > 99", "return (\n        age\n        > 99\n    )"))
    (hunk,) = hunks(OLD, new)
    broken = Hunk(hunk.text.replace("def ", "def"), hunk.old, hunk.new, hunk.first)
    assert not may_be_a_fix(broken, new)


def test_the_manifest_pins_releases_in_their_order() -> None:
    named = json.loads((HERE / "releases.json").read_text())
    assert len({one["name"] for one in named}) == len(named) >= 5
    for one in named:
        assert len(one["releases"]) >= 2
        assert all(len(release["sha256"]) == 64 for release in one["releases"])
