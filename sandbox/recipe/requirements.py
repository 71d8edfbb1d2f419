"""Requirement lines: what may be installed is a name with a version, never an option, a path or an address."""

import re
from collections.abc import Mapping
from posixpath import dirname, join, normpath

from sandbox.recipe.fidelity import FidelityLog
from sandbox.types import Frozen

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_VERSION = r"(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+"
_LINE = re.compile(
    rf"({_NAME})\s*(\[\s*{_NAME}(?:\s*,\s*{_NAME})*\s*\])?\s*(\(?\s*{_VERSION}(?:\s*,\s*{_VERSION})*\s*,?\s*\)?)?"
    r"\s*(;[A-Za-z0-9_.\s\"'<>=!~(),+-]+)?"
)
_HASHES = re.compile(r"(?:\s*--hash=sha(?:256|384|512):[0-9a-f]{64,128})*\s*")
_ITSELF = re.compile(r"""(?:(?:-e|--editable)[ =]?\s*)?["']?\./?(?:\[([A-Za-z0-9_.,\s-]+)\])?["']?""")
_MOST_LINES = 2000
_MOST_CHARACTERS = 600
_DEEPEST = 5


class Wanted(Frozen):
    """What a list of requirements asks for."""

    lines: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    itself: bool = False
    """The checkout itself is to be installed."""
    extras: tuple[str, ...] = ()

    def plus(self, other: "Wanted") -> "Wanted":
        """Both, without repetitions, in order."""
        return Wanted(
            lines=_once(self.lines + other.lines),
            files=_once(self.files + other.files),
            itself=self.itself or other.itself,
            extras=_once(self.extras + other.extras),
        )


def normal_name(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def name_of(line: str) -> str:
    """The normal name a requirement line begins with."""
    found = re.match(_NAME, line)
    return normal_name(found[0]) if found else ""


def clean_line(line: str) -> str | None:
    """The requirement in plain form, or None when the line is anything else."""
    head, dashes, tail = line.strip().partition("--hash=")
    if len(head) > _MOST_CHARACTERS or (dashes and not _HASHES.fullmatch(dashes + tail)):
        return None
    found = _LINE.fullmatch(head.strip())
    if found is None:
        return None
    name, extras, versions, marker = (part or "" for part in found.groups())
    plain = name + re.sub(r"\s", "", extras) + re.sub(r"[\s()]", "", versions).rstrip(",")
    return " ".join(part for part in (plain, f"; {marker[1:].strip()}" if marker else "", dashes + tail) if part)


def clean_lines(lines: list[str], source: str, log: FidelityLog) -> Wanted:
    """The lines that may be installed; every other line is noted and left out."""
    wanted = Wanted()
    for line in lines[:_MOST_LINES]:
        itself = _ITSELF.fullmatch(line.strip())
        if itself is not None:
            extras = tuple(extra.strip() for extra in (itself[1] or "").split(",") if extra.strip())
            wanted = wanted.plus(Wanted(itself=True, extras=extras))
        elif (clean := clean_line(line)) is not None:
            wanted = wanted.plus(Wanted(lines=(clean,)))
        elif line.strip():
            log.dropped(f"{source}: {line}", "only names with versions are installed: no options, paths or addresses")
    return wanted


def read_requirement_file(path: str, contents: Mapping[str, bytes], log: FidelityLog, depth: int = 0) -> Wanted:
    """A requirements file of the repository with the files it refers to by `-r`."""
    raw = contents.get(path)
    if raw is None or depth > _DEEPEST:
        log.dropped(path, "the requirements file cannot be read")
        return Wanted()
    wanted = Wanted(files=(path,))
    text = re.sub(r"\\\r?\n", " ", raw.decode("utf-8", "replace"))
    plain: list[str] = []
    for line in text.splitlines()[:_MOST_LINES]:
        bare = re.sub(r"(^|\s)#.*", "", line).strip()
        if refers := re.fullmatch(r"(?:-r|--requirement)[ =]?\s*(\S+)", bare):
            inner = normpath(join(dirname(path), refers[1]))
            wanted = wanted.plus(clean_lines(plain, path, log))
            wanted = wanted.plus(read_requirement_file(inner, contents, log, depth + 1))
            plain = []
        else:
            plain.append(bare)
    return wanted.plus(clean_lines(plain, path, log))


def _once(items: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))
