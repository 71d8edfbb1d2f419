"""Classify a script by kind, to choose a step that no hint names."""

import re

from sandbox.recipe.command import classify_command
from sandbox.types import StepKind

RANKED = (StepKind.TEST, StepKind.LINT, StepKind.FORMAT, StepKind.TYPES)
"""Priority of kinds for the choice of the failed step."""

_PREPARES = re.compile(
    r"(?:set\s+[-+]\w+|echo\b|#|:|[{}()]|true$|cd\s|export\s|mkdir\b|curl\b|wget\b|brew\b|choco\b"
    r"|(?:sudo\s+)?(?:apt|apt-get|conda|mamba)\s|yarn$"
    r"|(?:sudo\s+)?(?:npm|pnpm|yarn|bun)\s+(?:install|i|ci|clean-install|add|global|up(?:date|grade)?"
    r"|uninstall|remove|rebuild|link|config|cache|audit|version|pack|-[gv]|--version)\b"
    r"|(?:(?:python3?\s+-m|uv|sudo|pipx|poetry run)\s+)?pip3?\s+install\b|pipx\s+install\b"
    r"|uv\s+(?:sync|venv|tool\s+install)\b"
    r"|(?:poetry|pdm|pipenv|hatch\s+env)\s+(?:install|sync|lock|add|config|create)\b"
    r"|(?:make|just)\s+[\w-]*(?:install|deps|setup)\b"
    r"|\S.{0,200}\s--(?:notest|install-only)\b)"
)
_MOST_LINES = 200
_LONGEST = 1_000


def kind_of_script(script: str, name: str = "") -> StepKind:
    """Return the first kind among a script's lines.

    A script that only installs has none, whatever its name.
    """
    joined = re.sub(r"\\\r?\n", " ", script)
    lines = [line.strip()[:_LONGEST] for line in re.split(r"\n|&&", joined)[:_MOST_LINES]]
    kinds = [classify_command(line, name) for line in lines if line and not _PREPARES.match(line)]
    return next((kind for kind in RANKED if kind in kinds), StepKind.OTHER)
