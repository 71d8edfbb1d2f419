"""What is generated into the documentation: `python -m tests.architecture.generated --write` rewrites it."""

import ast
import contextlib
import difflib
import importlib
import io
import itertools
import json
import os
import pkgutil
import re
import sys
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

from benchmarks.template_wins import COSTLY, KEPT, REASONS, table
from bot.cli import COMMANDS, main
from bot.domain.mission import Outcome
from bot.fixers.rung1_search.findings import DOUBTS
from bot.settings import leaves
from sandbox.types import EditDoubt
from tests.architecture.action_pages import action_page
from tests.architecture.api_pages import api_page
from tests.architecture.chat_pages import chat_page
from tests.architecture.gallery_pages import gallery_page
from tests.architecture.ladder_table import autofix_page, ladder_table
from tests.architecture.languages_table import languages_table
from tests.architecture.policy_pages import SCHEMA, policy_page, schema_text

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"


def settings_page() -> str:
    """The table of settings."""
    lines = [
        "# Settings",
        "",
        "Options win over variables, variables over `metaagent.toml`, the file over defaults. The file is the one `--config`",
        "names. One that merely lies in the current folder may be a stranger's: only the settings marked with * are taken from",
        "it, and any other is an error that says so.",
        "",
        "| key in metaagent.toml | variable | option | default | meaning |",
        "| --- | --- | --- | --- | --- |",
    ]
    for leaf in leaves():
        meaning = " ".join(leaf.description.split()).replace("|", "\\|")
        default = f"`{leaf.default}`" if leaf.default else ""
        mark = " \\*" if leaf.any_file else ""
        option = "none: a secret" if leaf.is_secret else f"`{leaf.option}`"
        lines.append(
            f"| `{leaf.key}`{mark} | `{leaf.variable}` | {option} | {default} | {meaning} |"
        )
    return "\n".join(lines) + "\n"


def command_page() -> str:
    """The help texts of the command line."""
    parts = [
        "# Command line",
        "",
        "Every command also takes all [settings](settings.md), as `--set KEY=VALUE` or as options of their own. `metaagent fix --json`",
        "prints one object; [the fix command](fix-json.md) explains its fields.",
        "",
    ]
    for words in ([], *([command] for command in COMMANDS)):
        parts += [f"## metaagent {' '.join(words)}".rstrip(), "", "```", _help(words), "```", ""]
    return "\n".join(parts)


def _help(words: list[str]) -> str:
    os.environ["COLUMNS"] = "100"
    os.environ["NO_COLOR"] = "1"
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main([*words, "--help"])
    return out.getvalue().rstrip()


KINDS = (
    ("Inside functions", "search.candidates.templates", (0, 1)),
    ("Outside functions", "search.candidates.templates.outer", (0, 1)),
    ("After an exception", "search.candidates.templates.guided", (2, 3)),
    ("Files that do not parse", "search.candidates.broken.kinds", (0, 1)),
    ("Findings of linters and type checkers", "search.findings.kinds", (0, 2)),
)
"""Heading, package, and which columns of a CHANGES table hold the text before and after."""
SEARCHED = tuple(kind for kind in KINDS if "search.candidates" in kind[1])
"""The kinds that the search tries; findings of tools are repaired without it."""
_LONGEST = 60


def templates_page() -> str:
    """A row for each template: its sentence, and the first change of its table that fits a line."""
    lines = [
        "# Templates",
        "",
        "The kinds of mistakes the [search](repair.md) knows, one file each. The tables in a file (`CHANGES`, `UNTOUCHED`) are its",
        "tests; the examples here are taken from them. [Another page](template-wins.md) counts what each of them wins.",
    ]
    for heading, package, columns in KINDS:
        lines += [
            "",
            f"## {heading}",
            "",
            "| template | for | for example |",
            "| --- | --- | --- |",
        ]
        for name, module in _modules(f"sandbox.guest.{package}"):
            sentence = " ".join(str(module.__doc__).split("\n\n")[0].split()).replace("|", "\\|")
            path = f"../../sandbox/guest/{package.replace('.', '/')}/{name}.py"
            example = next(
                (told for row in module.CHANGES if (told := _example(*(row[c] for c in columns)))),
                "",
            )
            lines.append(f"| [`{name}`]({path}) | {sentence} | {example} |")
    return "\n".join([*lines, *_linter_offers(), *_typescript_templates()]) + "\n"


OFFERS = {
    "sandbox/guest/search/findings/ruff_fixes.py": ("ruff_fix",),
    "sandbox/guest_node/eslint.cjs": ("eslint_fix", "eslint_suggestion"),
}
"""Programs that read the offers of a linter, and their templates."""


def _linter_offers() -> Iterator[str]:
    """A row for each program, with the first sentence of its file, and one for each doubt."""
    yield from ("", "## Edits that linters offer", "", "| template | for |", "| --- | --- |")
    for path, templates in OFFERS.items():
        names = ", ".join(f"[`{name}`](../../{path})" for name in templates)
        text = (ROOT / path).read_text().removeprefix("'use strict'\n")
        sentence = text.splitlines()[0].strip('"/ ')
        yield f"| {names} | {sentence} |"
    yield from ("", "A person has to confirm such an edit, although the command is green, if:", "")
    yield from ("| the report says | because |", "| --- | --- |")
    meanings = _meanings("sandbox/types/findings.py", EditDoubt)
    yield from (f"| {DOUBTS[doubt]} | {meanings[doubt.name]} |" for doubt in EditDoubt)


def _typescript_templates() -> Iterator[str]:
    """A row for each template of type errors: the sentence below the first line of its file."""
    yield from ("", "## Type errors of TypeScript", "", "| template | for |", "| --- | --- |")
    folder = "sandbox/guest_node/typescript/templates"
    for path in sorted((ROOT / folder).glob("*.cjs")):
        sentence = path.read_text().splitlines()[1].removeprefix("// ")
        yield f"| [`{path.stem}`](../../{folder}/{path.name}) | {sentence} |"


SOURCE_NAMES = {
    "given": "changes from outside, such as a model's",
    "broken": "repairs of files that do not parse",
    "guided": "edits that an exception suggests",
    "reverts": "parts of the red diff undone",
    "functions": "templates inside functions",
    "outer": "templates outside functions",
    "second_edit": "second edits on top of partial fixes",
    "joined": "partial fixes joined",
}


def template_wins_page() -> str:
    """Tables of what each source and template wins, from the figures that the benchmark kept."""
    figures = json.loads(KEPT.read_text())
    sources, templates = figures["sources"], figures["templates"]
    total_s = sum(wins["seconds"] for wins in templates.values())
    sets = [
        f"| {one['set']} | {one['tests']} | {one['limit_s']:g} | {one['bugs']} | {one['fixed']} |"
        for one in figures["sets"]
    ]
    meanings = [f"- `{name}`: {meaning}" for name, meaning in SOURCE_NAMES.items()]
    lines = [
        *("# Wins of the templates", ""),
        f"`python -m benchmarks.template_wins` counted these figures on {figures['date']} from searches of known bugs. The",
        "[list of templates](templates.md) describes each of them, the [search](repair.md) explains the words.",
        "",
        *(
            "| set | tests given | seconds at most | bugs | fixed |",
            "| --- | --- | --- | --- | --- |",
        ),
        *(*sets, ""),
        *([figures["note"], ""] if figures["note"] else []),
        *("Columns after *time* count bugs:", ""),
        "- *tried*: candidates tried. A second edit counts for its own template.",
        "- *ms each*: time of the search for each of them, from generation to confirmation. Candidates that run together share",
        "  their time evenly. The searches used one worker on a busy machine, so compare the figures with each other only.",
        "- *time*: share of the time of all candidates.",
        "- *plausible*: a candidate passed every test that the search was given.",
        "- *first*: its candidate was ranked first. *fixed*: that candidate was also correct.",
        "- *unique*: correct candidates were shown, and all of them need this template. The search stops soon after its first",
        "  finds, and equal edits count for the cheapest template. Without the template another one might therefore win.",
        "",
        f"A template that was never ranked first and takes more than {COSTLY:.0%} of the time is removed, unless it is the only one",
        "for its kind of mistake. One that no bug of these sets calls for costs nothing and stays.",
        *("", *(f"- `{name}` stays: {reason}." for name, reason in REASONS.items())),
        *("", "## Sources", "", table(sources, SOURCE_NAMES, total_s), "", *meanings),
    ]
    for heading, package, _ in SEARCHED:
        names = [name for name, _ in _modules(f"sandbox.guest.{package}")]
        lines += ["", f"## {heading}", "", table(templates, names, total_s)]
    lines += [
        "",
        "The sets have no file that does not parse. `python -m benchmarks.broken_files` measures the last table's templates.",
    ]
    return "\n".join(lines) + "\n"


def _modules(package: str) -> Iterator[tuple[str, Any]]:
    for found in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if not found.ispkg:
            yield found.name, importlib.import_module(f"{package}.{found.name}")


def _example(old: str, new: str) -> str:
    """`a < b` becomes `a <= b`; empty when more than a line changes, or a long one."""
    lines = [line for line in difflib.ndiff(old.splitlines(), new.splitlines()) if line[0] in "+-"]
    gone, come = ([line[2:].strip() for line in lines if line[0] == sign] for sign in "-+")
    if (
        gone == come
        or len(gone) > 1
        or len(come) > 1
        or any("`" in part or len(part) > _LONGEST for part in gone + come)
    ):
        return ""
    before, after = (f"`{part[0]}`".replace("|", "\\|") if part else "" for part in (gone, come))
    return (
        f"{before} becomes {after}"
        if before and after
        else f"{before or after} {'goes' if before else 'is added'}"
    )


def outcomes_page() -> str:
    """A row for each outcome, with the sentence that stands under it in the source."""
    meanings = _meanings("bot/domain/mission.py", Outcome)
    return "\n".join(
        [
            "# Outcomes",
            "",
            f"Every mission ends in exactly one of {len(Outcome)} outcomes, and says so.",
            "",
            "| outcome | meaning |",
            "| --- | --- |",
            *(f"| `{one.value}` | {meanings[one.name]} |" for one in Outcome),
            "",
        ]
    )


def _meanings(path: str, kind: type[StrEnum]) -> dict[str, str]:
    """The sentence under each member of an enumeration, by the member's name."""
    (found,) = (
        node
        for node in ast.parse((ROOT / path).read_text()).body
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__
    )
    return {
        name.targets[0].id: str(text.value.value)
        for name, text in itertools.pairwise(found.body)
        if isinstance(name, ast.Assign)
        and isinstance(name.targets[0], ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    }


PAGES = {
    "outcomes.md": outcomes_page,
    "reports.md": gallery_page,
    "settings.md": settings_page,
    "command-line.md": command_page,
    "templates.md": templates_page,
    "template-wins.md": template_wins_page,
    "autofix.md": autofix_page,
    "policy.md": policy_page,
    "commands.md": chat_page,
    "action.md": action_page,
    "api.md": api_page,
    SCHEMA: schema_text,
}
"""Seen from the reference."""

EXPLANATION = REFERENCE.parent / "explanation"
TABLES = {
    EXPLANATION / "ladder.md": ladder_table,
    EXPLANATION / "models.md": languages_table,
}
"""Documents of which only one table is generated: the one below its mark."""
_TABLE = re.compile(r"(?<=<!-- made by `make docs` -->\n)(?:\|.*\n)+")


def with_table(path: Path) -> str:
    """The document with its table as the code has it."""
    return _TABLE.sub(lambda _: TABLES[path](), path.read_text(), count=1)


if __name__ == "__main__" and "--write" in sys.argv:
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page())
    for path in TABLES:
        path.write_text(with_table(path))
