"""Code that reaches for what judges it is reported; an audit hook stays, so each case has a process of its own."""

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from sandbox.guest.tamper_watch import TamperWatch

ROOT = Path(__file__).resolve().parents[4]
PROGRAM = """
import sys, json
sys.path.insert(0, {root!r})
from sandbox.guest.hardened import harden_function
from sandbox.guest.tamper_watch import TamperWatch
seen = []
def own(a=1): pass
def judging(): pass
watch = TamperWatch(lambda kind, text: seen.append([kind, text]), harden_function, lambda code: code.co_filename != "<string>")
arm = watch.begin(frozenset([own]), frozenset([judging]))
own.__code__
arm()
{case}
print(json.dumps(seen))
"""


def reported(case: str) -> list[list[str]]:
    program = PROGRAM.format(root=str(ROOT), case=textwrap.dedent(case))
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    found: list[list[str]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("case", "kind"),
    [
        ("own.__code__", "patched"),
        ("own.__defaults__", "patched"),
        ("judging.__code__ = (lambda: 1).__code__", "patched"),
        ("judging.__defaults__ = (1,)", "patched"),
        ("import gc; gc.get_referents(own)", "patched"),
        ("import gc; gc.get_referrers(own)", "patched"),
        ("sys.settrace(lambda *a: None)", "traced"),
        ("sys.setprofile(lambda *a: None)", "traced"),
        ("import bdb; bdb.Bdb().set_trace(); sys.settrace(None)", "traced"),
        ("import ctypes; ctypes.pythonapi.PyFrame_LocalsToFast", "patched"),
        ("sys.addaudithook(lambda *a: None)", "traced"),
    ],
)
def test_reaching_for_what_judges_is_reported(case: str, kind: str) -> None:
    assert [found[0] for found in reported(case)][:1] == [kind]


@pytest.mark.parametrize(
    "case",
    [
        "judging.__code__",
        "judging()",
        "def other(): pass\nother.__code__ = (lambda: 1).__code__",
        "import gc; gc.get_objects(); gc.get_referents([])",
        "import doctest; doctest.testmod(doctest)",
        "import threading; t = threading.Thread(target=own); t.start(); t.join()",
    ],
)
def test_what_honest_tests_do_is_not(case: str) -> None:
    assert reported(case) == []


def test_a_tool_is_foreign_unless_it_is_an_installed_package_s() -> None:
    watch = TamperWatch(
        lambda *_: None, lambda function: function, lambda code: code.co_name == "installed"
    )

    def installed() -> None:
        """A tracer of a package."""

    class Tool:
        def __call__(self) -> None:
            """A tracer of the repository."""

    assert not watch.is_foreign_tool(None)
    assert not watch.is_foreign_tool(installed)
    for tool in (lambda: None, Tool(), print):
        assert watch.is_foreign_tool(tool)
