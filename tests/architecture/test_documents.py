"""Documents say what the code does: generated pages are current, links lead somewhere."""

import re
from pathlib import Path

import pytest

from bot.domain.mission import Outcome
from tests.architecture.generated import PAGES, REFERENCE, TABLES, with_table

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_current(name: str) -> None:
    assert (REFERENCE / name).read_text() == PAGES[name](), "run `make docs`"


@pytest.mark.parametrize("path", TABLES, ids=lambda p: p.name)
def test_a_generated_table_is_current(path: Path) -> None:
    assert path.read_text() == with_table(path), "run `make docs`"
    assert path.read_text().count("<!-- made by `make docs` -->") == 1


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_between_documents_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), target


@pytest.mark.parametrize(
    "path",
    [ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md"],
    ids=lambda p: p.name,
)
def test_files_named_in_a_document_exist(path: Path) -> None:
    for name in re.findall(r"`((?:bot|sandbox|tests)/[\w/]+(?:\.py|/))`", path.read_text()):
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize(
    "path", [p for p in DOCUMENTS if p.name not in PAGES], ids=lambda p: str(p.relative_to(ROOT))
)
def test_no_document_counts_or_lists_the_outcomes_by_hand(path: Path) -> None:
    text = path.read_text()
    counted = re.findall(
        r"\b(?:\d+|(?:fif|six|four|seven)teen)\s+outcomes\b|\bone of (?:fif|six|four|seven)teen\b",
        text,
    )
    assert counted == []
    listed = {outcome for outcome in Outcome if re.search(rf"\b{outcome.value}\b", text)}
    assert listed != set(Outcome), "link to docs/reference/outcomes.md"


PLACEHOLDER = re.compile(r"example\.(?:org/metaagent|net)|@0{40}|<YOUR|TODO")


def test_what_a_reader_would_copy_holds_no_unmarked_placeholder() -> None:
    copied = [*DOCUMENTS, *(ROOT / "examples").rglob("*.yml")]
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in copied
        for line in path.read_text().splitlines()
        if PLACEHOLDER.search(line) and "put the commit of a release here" not in line
    ]
    assert found == []


def test_the_readme_shows_the_figures_of_the_search_as_the_reference_has_them() -> None:
    """Compare the correct, the published and the median seconds of each set."""
    lines = (REFERENCE / "repair.md").read_text().splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    rows = {(row[0], row[1]): row for row in cells if len(row) == 10}
    quixbugs, half, fix = (
        rows["QuixBugs", "all"],
        rows["QuixBugs", "half"],
        rows["HumanEvalFix, public half", "half"],
    )
    planted = [row for (_, given), row in rows.items() if given == "failing" and row[2] != "16"]
    published = [[int(n) for n in row[7].split(" of ")] for row in planted]
    first, bugs = (sum(int(row[place]) for row in planted) for place in (3, 2))
    right, all_published = (sum(pair[place] for pair in published) for place in (0, 1))
    shown = (ROOT / "README.md").read_text()
    for figures in (
        f"| {quixbugs[3]} of {quixbugs[2]}, {quixbugs[8]} s |",
        f"| {half[3]} of {half[2]}; {fix[3]} of {fix[2]} ({fix[8]} s) |",
        f"| {half[7]}; {fix[7]} |",
        f"| {first} of {bugs}; {right} of {all_published} |",
    ):
        assert figures in shown
