"""Extract constant values that a script writes to GITHUB_ENV and GITHUB_OUTPUT for later steps."""

import re
from collections.abc import Mapping
from functools import partial

from sandbox.recipe.actions.values import Unknown
from sandbox.recipe.shell.variables import ShellVariables
from sandbox.recipe.shell.words import NotShell, expand_text, read_tokens

_FILE = r"""["']?\$\{?(GITHUB_ENV|GITHUB_OUTPUT)\}?["']?"""
_ECHO = r"(?:echo|printf)\s+(?:-\w+\s+)?(.+)"
_APPENDED = re.compile(
    rf"(.*?)(?:>>[ \t]*{_FILE}|\|[ \t]*tee[ \t]+-a[ \t]+{_FILE}(?:[ \t]*>[ \t]*/dev/null)?)[ \t]*;?"
)
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)(\w{1,40})\1")
_PAIR = re.compile(r"([A-Za-z_][\w-]{0,99})=(.{0,2000})")
_CONTROL = re.compile(r"\s*(?:if|for|while|until|case)\b")
_CLOSED = re.compile(r"(?:^|;)\s*(?:fi|done|esac)\b")
_ECHOED = re.compile(r"""\b(?:echo|printf)\s+(?:-\w+\s+)?(?:"[^"]*"|'[^']*'|\S+)""")
_SETS = re.compile(r"(?<![\w$])[A-Za-z_]\w{0,99}\+?=|\b(?:read|for|mapfile|readarray)\s")
_MOVES = re.compile(r"\b(?:cd|pushd|popd)\b")
_SOURCES = re.compile(r"(?:^|[;&|])\s*(?:source|\.|eval)\s+\S(?!\S*/activate)")
_MOST_CHARACTERS = 50_000
_MOST_VALUES = 50
_LONGEST_LINE = 2_000

Exported = dict[str, str | Unknown]


def read_exports(script: str, environment: Mapping[str, str]) -> tuple[Exported, Exported]:
    """Return what a script writes for later steps.

    Args:
        script: A shell script.
        environment: Its environment variables.

    Returns:
        The variables and the step's outputs. Computed values are unknown.
    """
    found: dict[str, Exported] = {"GITHUB_ENV": {}, "GITHUB_OUTPUT": {}}
    if len(script) > _MOST_CHARACTERS or "GITHUB_" not in script:
        return found["GITHUB_ENV"], found["GITHUB_OUTPUT"]
    lines = script.replace("\\\n", " ").splitlines()
    known = ShellVariables({"HOME": "/home/sandbox", **environment})
    for line in lines:
        plain = _ECHOED.sub("", line)
        if _SETS.search(plain):
            known.forget(plain)  # An earlier value does not count.
        if _MOVES.search(plain):
            known.enter(None)
        if _SOURCES.search(plain):
            known.forget_all()
    for file, words, certain in _list_writes(lines):
        literal = words[:1] == "'"
        plain = words.strip("\"'").removesuffix("\\n")
        pair = _PAIR.fullmatch(plain)
        if pair is None or len(found[file]) >= _MOST_VALUES:
            continue
        value = pair[2] if literal else _expand(pair[2], known)
        found[file][pair[1]] = (
            Unknown((f"{pair[1]}, which an earlier step computes",))
            if value is None or not certain
            else value
        )
    return found["GITHUB_ENV"], found["GITHUB_OUTPUT"]


def _list_writes(lines: list[str]) -> list[tuple[str, str, bool]]:
    """Return file, text, and certainty of each write.

    Writes in conditions and loops are uncertain.
    """
    outside: list[str] = []
    inside: list[str] = []
    depth = 0
    for line in lines:
        opens, closes = _CONTROL.match(line) is not None, _CLOSED.search(line) is not None
        (inside if depth or opens else outside).append(line)
        depth = max(depth + opens - closes, 0)
    certain = [(file, words, True) for file, words in _writes(outside)]
    return certain + [(file, words, False) for file, words in _writes(inside)]


def _writes(script: list[str]) -> list[tuple[str, str]]:
    """Return pairs of file and written text."""
    found: list[tuple[str, str]] = []
    group: list[str] | None = None
    lines = iter([line.strip() for line in script])
    for line in lines:
        if len(line) > _LONGEST_LINE:
            continue
        heredoc = _HEREDOC.search(line)
        if heredoc is not None and (file := re.search(_FILE, line)):
            end = heredoc[2]
            found += [(file[1], written) for written in iter(partial(next, lines, end), end)]
        elif line.startswith("{") and "}" not in line.replace("${", ""):
            group = [line[1:]]
        elif line.startswith("}") and group is not None:
            found += [
                (file[1], text)
                for text in _echo_arguments(group)
                if (file := re.search(_FILE, line))
            ]
            group = None
        elif group is not None:
            group.append(line)
        else:
            found += _parse_append(line)
    return found


def _parse_append(line: str) -> list[tuple[str, str]]:
    """Parse `echo A=1 >> FILE`, several of them, or a group `{ ...; } >> FILE` in one line."""
    whole = _APPENDED.fullmatch(line)
    if whole is not None and whole[1].lstrip().startswith("{"):
        return [(whole[2] or whole[3], text) for text in _echo_arguments([whole[1].strip(" {}\t")])]
    found = []
    for part in re.split(r"&&|;", line):
        if one := _APPENDED.fullmatch(part.strip()):
            found += [(one[2] or one[3], text) for text in _echo_arguments([one[1]])]
    return found


def _echo_arguments(lines: list[str]) -> list[str]:
    parts = (part.strip() for line in lines for part in line.split(";"))
    return [echo[1].strip() for part in parts if (echo := re.fullmatch(_ECHO, part))]


def _expand(value: str, known: Mapping[str, str]) -> str | None:
    """Substitute known variables; return None if the shell would compute something."""
    quoted = value if "$(" in value else value.replace('"', '\\"')
    try:
        words = [token.word for token in read_tokens(f'"{quoted}"')]
    except NotShell:
        return None
    put = expand_text(words[0], known) if len(words) == 1 and words[0] is not None else None
    return put if put is not None and len(put) <= _LONGEST_LINE else None
