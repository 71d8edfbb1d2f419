"""What a script hands to later steps through GITHUB_ENV and GITHUB_OUTPUT, as far as it is constant."""

import re
from collections.abc import Mapping

from sandbox.recipe.actions.values import Unknown
from sandbox.recipe.editable import WORKDIR

_FILE = r"""["']?\$\{?(GITHUB_ENV|GITHUB_OUTPUT)\}?["']?"""
_ECHO = r"""(?:echo|printf)\s+(?:-\w+\s+)?(.+?)"""
_LINE = re.compile(rf"\s*{_ECHO}\s*(?:>>\s*{_FILE}|\|\s*tee\s+-a\s+{_FILE}(?:\s*>\s*/dev/null)?)\s*;?\s*")
_GROUP = re.compile(rf"(?<!\$)\{{((?:[^{{}}]|\$\{{[^{{}}]{{0,200}}\}}){{0,4000}})\}}\s*>>\s*{_FILE}")
_HEREDOC = re.compile(
    rf"^\s*cat\s*(?:>>\s*{_FILE}\s*<<-?\s*(['\"]?)(\w+)\2|<<-?\s*(['\"]?)(\w+)\4\s*>>\s*{_FILE})\s*\n(.*?)^\s*(?:\3|\5)\s*$",
    re.MULTILINE | re.DOTALL,
)
_PAIR = re.compile(r"([A-Za-z_][\w-]{0,99})=(.{0,2000})")
_CONTROL = re.compile(r"^\s*(?:if|for|while|until|case)\b", re.MULTILINE)
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
_MOST_CHARACTERS = 50_000
_MOST_VALUES = 50

Exported = dict[str, str | Unknown]


def exports_of(script: str, environment: Mapping[str, str]) -> tuple[Exported, Exported]:
    """What a script writes for later steps.

    Args:
        script: A shell script.
        environment: The variables it sees.

    Returns:
        The variables and the step's outputs; a value that is computed is unknown.
    """
    found: dict[str, Exported] = {"GITHUB_ENV": {}, "GITHUB_OUTPUT": {}}
    if len(script) > _MOST_CHARACTERS or "GITHUB_" not in script:
        return found["GITHUB_ENV"], found["GITHUB_OUTPUT"]
    certain = _CONTROL.search(script) is None
    known = {"GITHUB_WORKSPACE": WORKDIR, "HOME": "/home/sandbox", **environment}
    for file, words in _writes(script.replace("\\\n", " ")):
        literal = words[:1] == "'"
        plain = words.strip("\"'").removesuffix("\\n")
        pair = _PAIR.fullmatch(plain)
        if pair is None or len(found[file]) >= _MOST_VALUES:
            continue
        value = pair[2] if literal else _expanded(pair[2], known)
        found[file][pair[1]] = (
            Unknown((f"{pair[1]}, which an earlier step computes",)) if value is None or not certain else value
        )
    return found["GITHUB_ENV"], found["GITHUB_OUTPUT"]


def _writes(script: str) -> list[tuple[str, str]]:
    """Pairs of the file and what is written to it."""
    found: list[tuple[str, str]] = []
    for match in _HEREDOC.finditer(script):
        found += [(match[1] or match[6], line.strip()) for line in match[7].splitlines()]
    for match in _GROUP.finditer(script):
        lines = re.split(r"[\n;]", match[1])
        found += [(match[2], echoed[1]) for line in lines if (echoed := re.fullmatch(rf"\s*{_ECHO}\s*", line))]
    for line in re.split(r"\n|&&|;", script):
        if single := _LINE.fullmatch(line):
            found.append((single[2] or single[3], single[1]))
    return found


def _expanded(value: str, known: Mapping[str, str]) -> str | None:
    """The value with known variables put in; None when the shell would compute something."""
    if any(_name(found) not in known for found in _VARIABLE.finditer(value)):
        return None
    put = _VARIABLE.sub(lambda found: known[_name(found)], value)
    return None if "$" in _VARIABLE.sub("", value) or "`" in value else put


def _name(found: re.Match[str]) -> str:
    return found[1] or found[2]
