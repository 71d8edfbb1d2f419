"""What is generated into the documentation: `python -m tests.architecture.generated --write` rewrites it."""

import contextlib
import io
import os
import sys
from pathlib import Path

from bot.cli import main
from bot.settings import leaves

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"


def settings_page() -> str:
    """The table of settings."""
    lines = [
        "# Settings",
        "",
        "Options win over variables, variables over `metaagent.toml`, the file over defaults.",
        "",
        "| key in metaagent.toml | variable | option | default | meaning |",
        "| --- | --- | --- | --- | --- |",
    ]
    for leaf in leaves():
        meaning = " ".join(leaf.description.split()).replace("|", "\\|")
        default = f"`{leaf.default}`" if leaf.default else ""
        lines.append(f"| `{leaf.key}` | `{leaf.variable}` | `{leaf.option}` | {default} | {meaning} |")
    return "\n".join(lines) + "\n"


def command_page() -> str:
    """The help texts of the command line."""
    parts = [
        "# Command line",
        "",
        "Every command also takes all [settings](settings.md) as options. `metaagent fix --json` prints one object; its",
        "fields are told in [the fix command](fix-json.md).",
        "",
    ]
    for words in ([], ["serve"], ["fix"], ["repair"], ["replay"], ["recipe"], ["doctor"], ["image"]):
        parts += [f"## metaagent {' '.join(words)}".rstrip(), "", "```", _help(words), "```", ""]
    return "\n".join(parts)


def _help(words: list[str]) -> str:
    os.environ["COLUMNS"] = "100"
    os.environ["NO_COLOR"] = "1"
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        main([*words, "--help"])
    return out.getvalue().split("\nsettings:\n")[0].rstrip()


PAGES = {"settings.md": settings_page, "command-line.md": command_page}


if __name__ == "__main__" and "--write" in sys.argv:
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (REFERENCE / name).write_text(page())
