"""The page of the Action's inputs and outputs, written from `action.yml`."""

from pathlib import Path
from typing import Any

import yaml

ACTION = Path(__file__).resolve().parents[2] / "action.yml"


def action_page() -> str:
    """Tables of inputs and outputs."""
    action: dict[str, Any] = yaml.safe_load(ACTION.read_text())
    lines = [
        "# The Action: inputs and outputs",
        "",
        "The inputs and outputs of `action.yml`; see [how to use it](../howto/action.md). An input without a value and a default follows the",
        "[policy](policy.md) of the default branch, or to our own default.",
        "",
        "| input | default | meaning |",
        "| --- | --- | --- |",
    ]
    for name, told in action["inputs"].items():
        default = told.get("default")
        shown = (
            ""
            if default is None
            else "the workflow's own"
            if name == "github-token"
            else f"`{default}`"
        )
        lines.append(f"| `{name}` | {shown} | {_line(told['description'])} |")
    lines += ["", "| output | meaning |", "| --- | --- |"]
    lines += [
        f"| `{name}` | {_line(told['description'])} |" for name, told in action["outputs"].items()
    ]
    return "\n".join(lines) + "\n"


def _line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
