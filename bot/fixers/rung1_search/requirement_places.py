"""Find the place to declare a requirement, and compute the smallest edit that adds it."""

import re
from collections.abc import Callable, Mapping

from bot.fixers.rung1_search.declared import declared_in, normal
from sandbox.types import Frozen

_TOKEN = re.compile(r"(?P<item>\"(?:[^\"\\]|\\.)*\"|'[^']*')|(?P<end>\])|[\s,]+|#[^\n]*")
"""Tokens allowed in a list of strings."""
_TESTS = ("test", "tests", "testing", "dev")
Edit = Callable[[str, str], tuple[str, str] | None]
"""Maps a file's text and a requirement to the new text and the name of the place."""


class PlacedRequirement(Frozen):
    """A requirement added to a file."""

    path: str
    where: str
    """Name of the place, such as `[project] dependencies`."""
    line: str
    """The requirement as written there."""
    content: str
    """The file's complete new text."""


def place_requirement(
    texts: Mapping[str, str], requirement: str, *, tests: bool
) -> PlacedRequirement | None:
    """Add a requirement to the most fitting file; return None if no file declares any.

    Args:
        texts: Text of each file that may declare distributions, by path.
        requirement: A requirement such as `PyYAML>=6`.
        tests: True if only tests need it.
    """
    names = re.match(r"[\w.-]+", requirement)
    if names is None:
        return None
    for path, edit in _order(texts, tests=tests):
        found = edit(texts[path], requirement)
        if found is not None:
            text, where = found
            added = declared_in(path, text).keys() - declared_in(path, texts[path]).keys()
            # Verify the edit by parsing the result: exactly one more requirement must be declared.
            if added == {normal(names[0])}:
                return PlacedRequirement(path=path, where=where, line=requirement, content=text)
    return None


def _order(texts: Mapping[str, str], *, tests: bool) -> list[tuple[str, Edit]]:
    """Return files and their edit functions, most fitting first, at most one folder deep."""
    order: list[tuple[str, Edit]] = []
    if tests:
        order += [
            ("pyproject.toml", _test_group),
            ("setup.cfg", _cfg_tests),
            ("Pipfile", _pipfile("dev-packages")),
        ]
        order += [
            (path, _line)
            # `.in` files come first: `.txt` files are compiled from them.
            for path in sorted(texts)
            if re.search(r"(?:test|dev)", path) and path.endswith(".in")
        ]
        order += [
            (path, _line)
            for path in sorted(texts)
            if re.search(r"(?:test|dev)", path) and path.endswith(".txt")
        ]
    order += [
        ("pyproject.toml", _project),
        ("pyproject.toml", _poetry),
        ("setup.cfg", _cfg),
        ("setup.py", _setup),
    ]
    order += [
        ("Pipfile", _pipfile("packages")),
        ("requirements.in", _line),
        ("requirements.txt", _line),
    ]
    order += [
        (path, _line)
        for path in sorted(texts)
        if path.endswith(("requirements/base.txt", "requirements/main.txt"))
    ]
    return [(path, edit) for path, edit in order if path in texts]


def _section(text: str, header: str) -> tuple[int, int] | None:
    """Return the span of a section's lines, without its header."""
    match = re.search(rf"^\[{re.escape(header)}\][ \t]*(?:#.*)?\r?\n", text, re.MULTILINE)
    if match is None:
        return None
    following = re.compile(r"^\[", re.MULTILINE).search(text, match.end())
    return match.end(), following.start() if following else len(text)


def _array(text: str, header: str, key: str, requirement: str) -> str | None:
    """Add a string to the array at a key of a TOML section."""
    section = _section(text, header)
    if section is None:
        return None
    match = re.compile(
        rf"^(?:{re.escape(key)}|\"{re.escape(key)}\")[ \t]*=[ \t]*\[", re.MULTILINE
    ).search(text, *section)
    if match is None:
        return None
    found = _items(text, match.end())
    if found is None:
        return None
    items, end = found
    return _with_item(text, match.end(), end, items, f'"{requirement}"')


def _items(text: str, start: int) -> tuple[list[re.Match[str]], int] | None:
    """Return the strings of a list and the offset of its end; None if it holds anything else."""
    at, items = start, list[re.Match[str]]()
    while token := _TOKEN.match(text, at):
        at = token.end()
        if token.lastgroup == "end":
            return items, token.start()
        if token.lastgroup == "item":
            items.append(token)
    return None


def _with_item(text: str, start: int, end: int, items: list[re.Match[str]], new: str) -> str:  # noqa: PLR0917
    newline = "\r\n" if "\r\n" in text else "\n"
    if not items:
        return text[:start] + new + text[end:]
    if items[0].group().startswith("'"):
        new = new.replace('"', "'")
    last = items[-1]
    rest = text[last.end() : end]
    comma = rest.lstrip().startswith(",")
    line_start = text.rfind("\n", 0, last.start()) + 1
    indent = text[line_start : last.start()]
    if "\n" in text[start:end] and not indent.strip():
        behind = last.end() + (rest.index(",") + 1 if comma else 0)
        stop = text.find("\n", behind, end)
        stop = stop if stop >= 0 else behind
        # Insert before the carriage return of a CRLF line.
        stop = stop - 1 if text[stop - 1 : stop] == "\r" else stop
        between = text[behind:stop]
        return text[: last.end()] + "," + between + newline + indent + new + "," + text[stop:]
    return (
        text[: last.end()] + ", " + new + text[last.end() + (rest.index(",") + 1 if comma else 0) :]
    )


def _project(text: str, requirement: str) -> tuple[str, str] | None:
    edited = _array(text, "project", "dependencies", requirement)
    if (
        edited is None
        and (section := _section(text, "project"))
        and "dynamic" not in text[slice(*section)]
    ):
        body = text[slice(*section)].rstrip()
        at = section[0] + len(body)
        edited = text[:at] + f'\ndependencies = ["{requirement}"]' + text[at:]
    return (edited, "[project] dependencies") if edited else None


def _test_group(text: str, requirement: str) -> tuple[str, str] | None:
    for name in _TESTS:
        for header in (
            "dependency-groups",
            "project.optional-dependencies",
            "tool.pdm.dev-dependencies",
        ):
            edited = _array(text, header, name, requirement)
            if edited is not None:
                return edited, f"[{header}] {name}"
        edited = _entry(text, f"tool.poetry.group.{name}.dependencies", requirement)
        if edited is not None:
            return edited, f"[tool.poetry.group.{name}.dependencies]"
    edited = _entry(text, "tool.poetry.dev-dependencies", requirement)
    return (edited, "[tool.poetry.dev-dependencies]") if edited else None


def _poetry(text: str, requirement: str) -> tuple[str, str] | None:
    edited = _entry(text, "tool.poetry.dependencies", requirement)
    return (edited, "[tool.poetry.dependencies]") if edited else None


def _pipfile(section: str) -> Edit:
    def edit(text: str, requirement: str) -> tuple[str, str] | None:
        edited = _entry(text, section, requirement)
        return (edited, f"[{section}]") if edited else None

    return edit


def _entry(text: str, header: str, requirement: str) -> str | None:
    """Add `name = "version"` at the end of a TOML table."""
    section = _section(text, header)
    match = re.fullmatch(r"([\w.-]+)\s*((?:[<>=!~].*)?)", requirement)
    if section is None or match is None:
        return None
    newline = "\r\n" if "\r\n" in text else "\n"
    body = text[slice(*section)].rstrip()
    at = section[0] + len(body)
    name = match[1] if "." not in match[1] else f'"{match[1]}"'
    return (
        text[:at]
        + (newline if body else "")
        + f'{name} = "{match[2] or "*"}"'
        + (text[at:] or newline)
    )


def _cfg(text: str, requirement: str) -> tuple[str, str] | None:
    edited = _ini(text, "options", "install_requires", requirement)
    return (edited, "[options] install_requires") if edited else None


def _cfg_tests(text: str, requirement: str) -> tuple[str, str] | None:
    for name in _TESTS:
        edited = _ini(text, "options.extras_require", name, requirement)
        if edited is not None:
            return edited, f"[options.extras_require] {name}"
    return None


def _ini(text: str, header: str, key: str, requirement: str) -> str | None:
    """Add a line to a list in setup.cfg."""
    section = _section(text, header)
    if section is None:
        return None
    pattern = re.compile(
        rf"^{re.escape(key)}[ \t]*=[ \t]*\r?\n((?:[ \t]+\S.*(?:\r?\n|$))+)", re.MULTILINE
    )
    match = pattern.search(text, *section)
    if match is None:
        return None
    indent = re.match(r"[ \t]+", match[1])
    newline = "\r\n" if "\r\n" in text else "\n"
    head = text[: match.end()]
    head = head if head.endswith("\n") else head + newline
    return head + (indent[0] if indent else "    ") + requirement + newline + text[match.end() :]


def _setup(text: str, requirement: str) -> tuple[str, str] | None:
    """Add a string to a literal `install_requires=[...]`."""
    match = re.search(r"install_requires\s*=\s*\[", text)
    if match is None:
        return None
    found = _items(text, match.end())
    if found is None:
        return None
    items, end = found
    return _with_item(text, match.end(), end, items, f'"{requirement}"'), "install_requires"


def _line(text: str, requirement: str) -> tuple[str, str] | None:
    """Add a line in alphabetical order if the lines are sorted, else at the end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    # pip requires hashes for all requirements of a file or for none.
    if "--hash" in text:
        return None
    named = [(number, line) for number, line in enumerate(lines) if re.match(r"[A-Za-z0-9]", line)]
    keys = [line.lower() for _, line in named]
    new = requirement + newline
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += newline
    at = len(lines)
    if len(keys) > 1 and keys == sorted(keys):
        at = next(
            (number for number, line in named if line.lower() > requirement.lower()),
            named[-1][0] + 1,
        )
    return "".join([*lines[:at], new, *lines[at:]]), "its lines"
