"""What a person says about where to look."""

import pytest

from bot.mission.failures.suspects import from_hint
from tests.fakes.fake_workspace import FakeWorkspace
from tests.unit.bot.mission.world import ADDS, PATH, Stage, a_world

pytestmark = pytest.mark.anyio
FILES = {
    "src/deep/calc.py": "import os\n\n\ndef add(a, b):\n    return a\n\n\nclass A:\n    async def go(self):\n        pass\n",
    "flat.py": "x = 1\n",
    "web/$id.tsx": "export class A {\n  go() {}\n}\n",
    "web/app.tsx": "export class A {\n  go() {}\n}\n",
    "shop.go": "package shop\n\nfunc Total() {}\n",
    "tests/test_calc.py": "def test():\n    pass\n",
}


@pytest.mark.parametrize(
    ("hint", "places"),
    [
        ("", []),
        ("it is right", []),
        ("flat.py", [("flat.py", 1)]),
        ("look at `src/deep/calc.py:5`, please", [("src/deep/calc.py", 5)]),
        ("src/deep/calc.py", [("src/deep/calc.py", 4), ("src/deep/calc.py", 9)]),
        ("calc.py", []),
        ("../flat.py /etc/x.py tests/test_calc.py gone.py", []),
        ("flat.py:0", [("flat.py", 1)]),
        ("flat.pyc flat.py2 xflat.py", []),
        ("web/app.tsx:1 or shop.go", [("shop.go", 3), ("web/app.tsx", 1)]),
        ("web/app.tsx", [("web/app.tsx", 2)]),
        ("web/app.ts shop.gob", []),
        ("web/$id.tsx:1", [("web/$id.tsx", 1)]),
    ],
)
async def test_only_files_that_are_there_and_may_be_edited_are_suspected(
    hint: str, places: list[tuple[str, int]]
) -> None:
    suspects = await from_hint(hint, FakeWorkspace(FILES))
    assert [(suspect.file, suspect.line) for suspect in suspects] == places
    assert {suspect.reason for suspect in suspects} <= {"named by a person"}


async def test_a_long_hint_is_bounded() -> None:
    assert (
        len(await from_hint(" ".join(f"flat.py:{n}" for n in range(1, 900)), FakeWorkspace(FILES)))
        <= 50
    )


async def test_what_a_person_named_is_suspected_first() -> None:
    context = await Stage(world=a_world(ADDS)).play(hint=f"{PATH}:6")
    assert context.diagnosis is not None
    assert (context.diagnosis.suspects[0].file, context.diagnosis.suspects[0].line) == (PATH, 6)
    assert "named by a person" in context.diagnosis.suspects[0].reason
