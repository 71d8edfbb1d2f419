"""Unit tests mirror the source, and every port has a fake and a contract suite."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENTRIES = (
    "action/run",
    "app",
    "cli",
    "errors",
    "pipeline",
    "publish/progress",
    "service",
    "settings",
    "telemetry",
    "terminal/db",
    "terminal/doctor",
    "terminal/fix",
    "terminal/lessons",
    "terminal/log",
    "terminal/models",
    "terminal/pause",
    "terminal/prompts",
    "terminal/recipe",
    "terminal/repair",
    "terminal/replay",
    "terminal/simulate",
)


def test_unit_tests_stand_where_their_source_stands() -> None:
    strangers = []
    for test in (ROOT / "tests/unit").rglob("test_*.py"):
        folder = test.relative_to(ROOT / "tests/unit").parent
        # The local GitHub is a part of the tests that has tests of its own.
        if not (ROOT / folder).is_dir() and not (ROOT / "tests" / folder).is_dir():
            strangers.append(str(test.relative_to(ROOT)))
    assert not strangers


def test_every_entry_module_has_its_tests() -> None:
    tests = [
        ROOT / "tests/unit/bot" / Path(name).with_name(f"test_{Path(name).name}.py")
        for name in ENTRIES
    ]
    assert [test.name for test in tests if not test.is_file()] == []


def test_every_port_with_two_implementations_has_a_contract_suite() -> None:
    suites = {p.name for p in (ROOT / "tests/contract").glob("test_*.py")}
    for port in ("backend", "workspace", "github", "queue", "lesson_store", "fixer"):
        assert f"test_{port}.py" in suites, f"no contract suite for {port}"
