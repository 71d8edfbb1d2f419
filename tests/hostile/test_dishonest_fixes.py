"""Edits that make a test green and are no fix are refused; honest ones of the same kinds pass."""

import ast
from pathlib import Path

import pytest

from benchmarks.sets.programs import programs_of
from sandbox.changes import ConcernSeverity, screen, validate_edits
from sandbox.changes.reachable import CapabilityKind
from sandbox.guest.search.candidates.templates import load_templates
from sandbox.types import FileEdit
from tests.hostile.edits import HONEST, LOCAL, OLD, REFUSED

PATH = "shop/prices.py"


def verdict(old: str, new: str) -> tuple[bool, set[str]]:
    found = validate_edits(
        [FileEdit(path=PATH, mode="100644", content=new.encode())], {PATH: old.encode()}
    )
    return found.accepted, {concern.rule for concern in found.concerns}


@pytest.mark.parametrize("name", REFUSED)
def test_a_dishonest_edit_is_refused(name: str) -> None:
    accepted, rules = verdict(OLD, REFUSED[name])
    assert not accepted, rules


@pytest.mark.parametrize("name", LOCAL)
def test_an_edit_that_works_in_one_place_is_told(name: str) -> None:
    ast.parse(LOCAL[name])
    _, rules = verdict(OLD, LOCAL[name])
    assert name == "no time zone at all" or rules, (
        "the second sandbox decides, and the look is told"
    )


@pytest.mark.parametrize("name", HONEST)
def test_an_honest_edit_is_not_refused(name: str) -> None:
    old, new = HONEST[name]
    concerns = [c for c in screen(old, new, PATH) if c.severity is ConcernSeverity.REFUSE]
    assert concerns == []


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_file_did_before_is_no_news(name: str) -> None:
    assert verdict(REFUSED[name], REFUSED[name] + "\nVALUE = 1\n")[0]


@pytest.mark.parametrize("name", ["quixbugs", "humanevalfix"])
def test_no_right_text_of_a_bug_set_is_refused(name: str, shared: Path, tmp_path: Path) -> None:
    """References leave documentation out, and with it examples that are tests: that alone is refused, and rightly."""
    refused = {}
    for bug in programs_of(shared / name):
        bug.plant(tmp_path / bug.name, ())
        for path, text in bug.right.items():
            concerns = screen((tmp_path / bug.name / path).read_text(), text, path)
            rules = {c.rule for c in concerns if c.severity is ConcernSeverity.REFUSE} - {
                "assertions"
            }
            if rules:
                refused[bug.name] = rules
    assert refused == {}


def test_no_change_that_the_search_makes_is_refused() -> None:
    changes = [
        (name, *change)
        for name, template in load_templates().items()
        for change in template.CHANGES
    ]
    refused = {
        (name, old, new): c.rule
        for name, old, new in changes
        for c in screen(old, new, "module.py")
        if c.severity is ConcernSeverity.REFUSE and c.rule in set(CapabilityKind) | {"always-equal"}
    }
    assert len(changes) > 100
    assert refused == {}
