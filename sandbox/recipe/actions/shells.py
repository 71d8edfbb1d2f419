"""Determine the shell of a step's script."""

import re

from sandbox.recipe.job import Shell

_POWERSHELL = re.compile(
    r"\$env:|`\s*$|\b(?:Get|Set|New|Write|Remove|Copy|Move|Invoke|Test|Start)-[A-Z]\w+"
    r"|\\\w+\.(?:exe|ps1|bat|py)\b|\$LASTEXITCODE",
    re.MULTILINE,
)

_NAMES: dict[str, Shell] = {
    "bash": "bash",
    "sh": "sh",
    "zsh": "bash",
    "micromamba-shell": "bash",
    "conda": "bash",
    "pwsh": "pwsh",
    "powershell": "pwsh",
    "cmd": "cmd",
}


def choose_shell(named: str, windows: bool, script: str) -> Shell:  # noqa: FBT001
    """Return the shell of a script.

    Args:
        named: The shell of the step or its defaults, such as `bash -l {0}`; empty for the runner's
            default.
        windows: Whether the runner's default is PowerShell. Plain commands mean the same in bash.
        script: The script.
    """
    words = named.split()
    first = words[0].rsplit("/", 1)[-1].lower() if words else ""
    if not first:
        return "pwsh" if windows and _POWERSHELL.search(script) else "bash"
    return "python" if first.startswith("python") else _NAMES.get(first, "other")
