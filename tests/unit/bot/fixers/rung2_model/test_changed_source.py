"""changed_source: whole functions before the change, and who calls them."""

import pytest

from bot.fixers.rung2_model.changed_source import changed_source
from sandbox.types import FileEdit
from tests.fakes.fake_workspace import FakeWorkspace

pytestmark = pytest.mark.anyio

LONG = "\n".join(f"    total += {n}" for n in range(60))
SOURCE = f"""LIMIT = 3


def total(items):
    total = 0
{LONG}
    return total - LIMIT


def other():
    return 1
"""
SHOP = "from calc import total\n\n\ndef bill(items):\n    return total(items) + 1\n"
FILES = {
    "calc.py": SOURCE,
    "shop.py": SHOP,
    "tests/test_calc.py": "from calc import total\n\n\ndef test_it():\n    assert total([]) == 0\n",
    ".env": "TOKEN=canary",
}


def edit(path: str, content: str) -> FileEdit:
    return FileEdit(path=path, mode="100644", content=content.encode())


async def test_a_long_function_is_shown_whole_with_its_callers_outside_of_tests() -> None:
    change = edit("calc.py", SOURCE.replace("total - LIMIT", "total + LIMIT"))
    changed, caller = await changed_source([change], FakeWorkspace(FILES))
    assert changed.origin == "calc.py: total"
    assert changed.text.startswith("def total(items):")
    assert changed.text.endswith("    return total - LIMIT")
    assert (caller.origin, caller.label) == ("shop.py: bill", "caller, from line 4")
    assert "return total(items) + 1" in caller.text


async def test_code_outside_of_functions_new_files_and_secrets_show_nothing() -> None:
    edits = [
        edit("calc.py", SOURCE.replace("LIMIT = 3", "LIMIT = 4")),
        edit("new.py", "x = 1\n"),
        edit(".env", "TOKEN=x"),
    ]
    assert await changed_source(edits, FakeWorkspace(FILES)) == ()
