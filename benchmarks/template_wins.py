"""Count what each template and candidate source wins, from rows of `benchmarks.repair`; one line of JSON.

    python -m benchmarks.repair --judge-all --workers 1 --rows FILE ...
    python -m benchmarks.template_wins FILE ... [--keep]

`--keep` stores the figures in `template_wins.json`, from which `make docs` writes the page of the reference. A second
edit counts for the templates of both edits, its trials for the second.
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

KEPT = Path(__file__).with_suffix(".json")
COSTLY = 0.01
"""Share of the time from which a template that never wins is not cheap."""
REASONS = {
    "regular_expression": (
        "no other template knows the parts of a regular expression, and most of its time went into one bug, "
        "where each trial outside functions takes a second"
    ),
    "borrow_expression": (
        "no other template reuses a whole expression of the same function. Its candidates passed the given tests of three "
        "bugs, behind those of others"
    ),
    "move_statement": (
        "no other template moves a statement. Its candidates passed the given tests of six bugs, behind those of others"
    ),
}
"""Why costly templates that never won are kept."""

Row = Mapping[str, Any]
Names = Callable[[str, str], Iterable[str]]
"""Return the names that a candidate counts for, by its source and template."""


@dataclass
class Wins:
    """Figures of one template or source; all but the first two are numbers of bugs."""

    tried: int = 0
    seconds: float = 0.0
    plausible: int = 0
    """A candidate passed every test that the search was given."""
    first: int = 0
    """Its candidate was ranked first."""
    fixed: int = 0
    """Its candidate was ranked first, and is right."""
    unique: int = 0
    """There are right candidates among those shown, and all of them need it."""


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path, help="rows of benchmarks.repair")
    parser.add_argument("--keep", action="store_true", help=f"store the figures in {KEPT.name}")
    parser.add_argument("--note", default="", help="on the choice of bugs, kept with the figures")
    arguments = parser.parse_args()
    rows = [json.loads(line) for path in arguments.files for line in path.read_text().splitlines()]
    figures = count_wins([row for row in rows if "spending" in row])
    if arguments.keep:
        figures = {"date": f"{datetime.now(UTC):%Y-%m-%d}", "note": arguments.note, **figures}
        KEPT.write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures))


def count_wins(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the figures of all sets, sources and templates, and which templates are costly losers."""
    templates = _count(rows, lambda _, template: set(template.split("+")))
    total = sum(wins.seconds for wins in templates.values())
    return {
        "sets": _describe_sets(rows),
        "sources": _plain(_count(rows, lambda origin, _: [origin])),
        "templates": _plain(templates),
        "costly": sorted(
            name
            for name, wins in templates.items()
            if not wins.first and wins.seconds > COSTLY * total
        ),
    }


def _count(rows: Iterable[Row], names: Names) -> dict[str, Wins]:
    found: dict[str, Wins] = {}

    def add(field: str, which: Iterable[str]) -> None:
        for name in which:
            wins = found.setdefault(name, Wins())
            setattr(wins, field, getattr(wins, field) + 1)

    for row in rows:
        for spent in row["spending"]:
            for name in names(spent["origin"], spent["template"]):
                wins = found.setdefault(name, Wins())
                wins.tried += spent["tried"]
                wins.seconds += spent["seconds"]
        add("plausible", {name for pair in row["found_by"] for name in names(*pair)})
        shown = [set(names(fix["origin"], fix["template"])) for fix in row["shown"]]
        right = [needed for needed, is_right in zip(shown, row["rights"], strict=False) if is_right]
        add("first", shown[0] if shown else ())
        add("fixed", shown[0] if any(row["rights"][:1]) else ())
        add("unique", set.intersection(*right) if right else ())
    return found


def _describe_sets(rows: Iterable[Row]) -> list[dict[str, Any]]:
    fixed: Counter[tuple[Any, ...]] = Counter()
    bugs: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        terms = (row["set"], row["tests"], row["seed"], row["limit_s"])
        bugs[terms] += 1
        fixed[terms] += bool(row["correct_first"])
    words = ("set", "tests", "seed", "limit_s")
    return [
        {**dict(zip(words, terms, strict=True)), "bugs": count, "fixed": fixed[terms]}
        for terms, count in bugs.items()
    ]


def _plain(found: Mapping[str, Wins]) -> dict[str, dict[str, Any]]:
    return {
        name: {**asdict(wins), "seconds": round(wins.seconds, 3)}
        for name, wins in sorted(found.items())
    }


def table(found: Mapping[str, Mapping[str, Any]], names: Iterable[str], total_s: float) -> str:
    """Return a Markdown table with a row for each name; one that was never tried has zeros.

    Args:
        found: Figures by name.
        names: The names of the rows.
        total_s: Seconds of all candidates.
    """
    lines = [
        "| name | tried | ms each | time | plausible | first | fixed | unique |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name in names:
        wins = Wins(**found.get(name, {}))
        each = f"{1000 * wins.seconds / wins.tried:.1f}" if wins.tried else "-"
        share = f"{100 * wins.seconds / total_s:.1f} %" if wins.tried else "-"
        counts = " | ".join(map(str, (wins.plausible, wins.first, wins.fixed, wins.unique)))
        lines.append(f"| `{name}` | {wins.tried} | {each} | {share} | {counts} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
