"""Validate requirement lines: only names with versions, never options, paths or addresses."""

import re
from collections.abc import Iterable
from itertools import chain
from posixpath import dirname, join, normpath
from typing import TypeVar

from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import CheckoutFiles, inside
from sandbox.types import Frozen

_Item = TypeVar("_Item")
_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
_VERSION = r"(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+"
# The lookahead keeps installer options out of the marker.
_LINE = re.compile(
    rf"({_NAME})\s*(\[\s*{_NAME}(?:\s*,\s*{_NAME})*\s*\])?\s*(\(?\s*{_VERSION}"
    rf"(?:\s*,\s*{_VERSION})*\s*,?\s*\)?)?"
    r"\s*(;(?!.*\s-)[A-Za-z0-9_.*\s\"'<>=!~(),+-]+)?"
)
_HASHES = re.compile(r"(?:\s*--hash=sha(?:256|384|512):[0-9a-f]{64,128})*\s*")
_EDITABLE = re.compile(r"(?:-e|--editable)(?:[ =]\s*|(?=[./]))")
_LOCAL = re.compile(
    r"""["']?((?:file:)?(?:\.{1,2}(?:/[\w.@+-]+)*|[\w@+-][\w.@+-]*(?:/[\w.@+-]+)+)/?)?"""
    r"""(?:\[([A-Za-z0-9_.,\s-]*)\])?["']?"""
)
_INDEX = re.compile(
    r"(?:--(?:extra-)?index-url|--find-links|--trusted-host|--no-index|-[if])\b|--(?:pre"
    r"|no-binary|only-binary|prefer-)"
)
_ADDRESS = re.compile(r"(?:^|[@\s])\s*(?:(?:git|hg|svn|bzr)\+|https?://|ssh://|git@|file://)")
_FOR_TESTS = re.compile(
    r"(?:(?:^|/)tests?/[^/]+"
    r"|(?:^|[/_.-])(?:tests?|testing|dev|develop|development)(?:[_.-][^/]*)?)$"
)
"""Paths of requirement files, and names of extras, for tests or development."""
_MOST_LINES = 2000
_MOST_LINES_IN_ALL = 10_000
"""Lines of a file and of all files that it includes."""
MOST_CHARACTERS = 600
_DEEPEST = 5
_MOST_LOCAL = 40


class Local(Frozen):
    """A project of the checkout to install."""

    folder: str = "."
    """Relative to the checkout."""
    extras: tuple[str, ...] = ()
    """Its extras and dependency groups."""
    alone: bool = False
    """Without its dependencies (`--no-deps`)."""


class Requirements(Frozen):
    """The requirements of a list."""

    lines: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    itself: bool = False
    """The checkout itself is to be installed."""
    extras: tuple[str, ...] = ()
    local: tuple[Local, ...] = ()
    """Projects of the checkout, by folder."""
    constraints: tuple[str, ...] = ()
    """Version bounds that install nothing."""
    missing: tuple[str, ...] = ()
    """Unavailable requirements, each naming the missing part."""
    for_tests: tuple[str, ...] = ()
    """Lines that are declared for tests or another purpose of development."""

    def plus(self, *others: "Requirements") -> "Requirements":
        """Merge lists in order, without duplicates.

        A line that one of them requires for other purposes is not for tests only.
        """
        every = (self, *others)
        for_tests = _unique(one.for_tests for one in every)
        needed = set(chain.from_iterable(one.other_lines() for one in every)) if for_tests else ()
        return Requirements(
            lines=_unique(one.lines for one in every),
            files=_unique(one.files for one in every),
            itself=any(one.itself for one in every),
            extras=_unique(one.extras for one in every),
            local=_unique(one.local for one in every)[:_MOST_LOCAL],
            constraints=_unique(one.constraints for one in every),
            missing=_unique(one.missing for one in every),
            for_tests=tuple(line for line in for_tests if line not in needed),
        )

    def other_lines(self) -> tuple[str, ...]:
        """Return the lines that are not for tests only."""
        if not self.for_tests:
            return self.lines
        for_tests = set(self.for_tests)
        return tuple(line for line in self.lines if line not in for_tests)

    def as_for_tests(self) -> "Requirements":
        """Mark all lines as declared for tests."""
        return self.with_(for_tests=self.lines)

    def with_own_project(self, folder: str) -> "Requirements":
        """Replace the checkout itself by the project in a folder."""
        if not self.itself:
            return self
        here = Local(folder=folder, extras=self.extras)
        return self.with_(itself=False, extras=()).plus(Requirements(local=(here,)))


def normal_name(name: str) -> str:
    """Normalize a distribution's name as indexes do."""
    return re.sub(r"[-_.]+", "-", name).lower()


def distribution_name(line: str) -> str:
    """Return the normalized name at the start of a requirement line."""
    found = re.match(_NAME, line)
    return normal_name(found[0]) if found else ""


def is_named_for_tests(name: str) -> bool:
    """Return True if the name of a file or an extra says that it is for tests or development."""
    # The pattern takes time by the square of a name's length.
    return len(name) <= MOST_CHARACTERS and _FOR_TESTS.search(name) is not None


def clean_line(line: str) -> str | None:
    """Return the normalized requirement, or None if the line is anything else."""
    # A line break within the line would be another requirement or option to the installer.
    head, dashes, tail = " ".join(line.split()).partition("--hash=")
    if len(head) > MOST_CHARACTERS or (dashes and not _HASHES.fullmatch(dashes + tail)):
        return None
    found = _LINE.fullmatch(head.strip())
    if found is None:
        return None
    name, extras, versions, marker = (part or "" for part in found.groups())
    plain = name + re.sub(r"\s", "", extras) + re.sub(r"[\s()]", "", versions).rstrip(",")
    return " ".join(
        part for part in (plain, f"; {marker[1:].strip()}" if marker else "", dashes + tail) if part
    )


def clean_lines(
    lines: list[str], source: str, log: FidelityLog, folder: str | None = None
) -> Requirements:
    """Return the installable lines; log and drop all others.

    Args:
        lines: Lines of a file or command line.
        source: Their origin, for the log.
        log: Receives the dropped lines.
        folder: The base of relative paths; None leaves "the checkout itself" to the caller.
    """
    # Some patterns take time by the square of the blanks.
    plain = (" ".join(line.split()) for line in lines[:_MOST_LINES])
    cleaned = (_clean(line, source, log, folder) for line in plain)
    return Requirements().plus(*cleaned)


def _clean(line: str, source: str, log: FidelityLog, folder: str | None) -> Requirements:
    if not line:
        return Requirements()
    if (local := _local(line, folder or ".")) is not None:
        if folder is None and local.folder == ".":
            return Requirements(itself=True, extras=local.extras)
        return Requirements(local=(local,))
    if (clean := clean_line(line)) is not None:
        return Requirements(lines=(clean,))
    return _drop_line(line, source, log)


def _drop_line(line: str, source: str, log: FidelityLog) -> Requirements:
    """Log a dropped line, and mark it as missing if something would be installed."""
    if _INDEX.match(line):
        log.dropped(f"{source}: {line}", "which index is asked, and how, is the operator's choice")
        return Requirements()
    log.dropped(
        f"{source}: {line}",
        "only names with versions are installed, not options, paths or addresses",
    )
    line = line[:MOST_CHARACTERS]
    if not _ADDRESS.search(line):
        return Requirements()
    egg = re.search(r"[#&]egg=([A-Za-z0-9._-]+)", line)
    name = (
        egg[1]
        if egg
        else (_HEAD.match(line) or _HEAD_OF_ADDRESS.search(line) or [None, line[:80]])[1]
    )
    return Requirements(
        missing=(f"the requirement {name}: it comes from an address, and only indexes are asked",)
    )


_HEAD = re.compile(rf"({_NAME})\s*(?:\[[^\]]*\])?\s*@")
_HEAD_OF_ADDRESS = re.compile(r"/([A-Za-z0-9._-]{1,80}?)(?:\.git)?(?:@[^/]*)?/?$")


def _local(line: str, folder: str) -> Local | None:
    """Return the local project of a line such as `-e ./libs/core[test]`; None if there is none."""
    if len(line) > MOST_CHARACTERS:
        return None
    bare = re.sub(r"\s#.*|\s?;.*", "", line)
    editable = _EDITABLE.match(bare)
    found = _LOCAL.fullmatch(bare[editable.end() :].strip() if editable else bare)
    if found is None or (found[1] is None and not editable and found[2] is None):
        return None
    if found[1] and found[1].endswith((".whl", ".zip", ".gz", ".txt", ".bz2")):
        return None
    place = inside(folder, found[1] or ".")
    if place is None:
        return None
    extras = tuple(extra.strip() for extra in (found[2] or "").split(",") if extra.strip())
    return Local(folder=place, extras=extras)


def read_requirement_file(
    path: str, files: CheckoutFiles, *, folder: str | None = None
) -> Requirements:
    """Read a requirements file with the files that it includes by `-r` and `-c`.

    Args:
        path: The file.
        files: The checkout.
        folder: The installer's folder, the base of local projects. None leaves "the checkout
            itself" to the caller.
    """
    key = ("requirements", path, *([] if folder is None else [folder]))
    return files.remember(key, lambda: _Included(files, folder).requirements(path, 0))


def read_constraint_file(path: str, files: CheckoutFiles) -> Requirements:
    """Read a constraints file: its lines install nothing."""
    key = ("constraints", path)
    return files.remember(key, lambda: _Included(files, None).constraints(path, 0))


class _Included:
    """The files that one requirements file includes; each is read once, also in a circle.

    Args:
        files: The checkout.
        folder: The installer's folder.
    """

    def __init__(self, files: CheckoutFiles, folder: str | None) -> None:
        self._contents = files.contents
        self._log = files.log
        self._folder = folder
        self._read: set[tuple[str, bool]] = set()
        self._left = _MOST_LINES_IN_ALL

    def requirements(self, path: str, depth: int) -> Requirements:
        """Return the requirements of a file."""
        return self._file(path, depth, self._folder, bounds=False)

    def constraints(self, path: str, depth: int) -> Requirements:
        """Return the lines of a file as bounds."""
        found = self._file(path, depth, None, bounds=True)
        bounds = (re.sub(r"\[[^\]]*\]", "", line) for line in found.lines)
        own = tuple(line.partition("--hash=")[0].strip() for line in bounds)
        constraints = _unique((own, found.constraints))
        return Requirements(constraints=constraints, files=found.files)

    def _file(self, path: str, depth: int, folder: str | None, *, bounds: bool) -> Requirements:
        raw = self._contents.get(path)
        if raw is None or depth > _DEEPEST:
            self._log.dropped(path, "the requirements file cannot be read")
            return Requirements()
        if (path, bounds) in self._read:
            return Requirements()
        self._read.add((path, bounds))

        def own(lines: list[str]) -> Requirements:
            found = clean_lines(lines, path, self._log, folder)
            return found.as_for_tests() if is_named_for_tests(path) else found

        wanted = [Requirements(files=(path,))]
        text = re.sub(r"\\\r?\n", " ", raw.decode("utf-8-sig", "replace"))
        plain: list[str] = []
        lines = text.splitlines()[: min(_MOST_LINES, self._left)]
        self._left -= len(lines)
        for line in lines:
            bare = re.sub(r"(^|\s)#.*", "", line).strip()
            refers = re.fullmatch(r"(-r|--requirement|-c|--constraint)[ =]?\s*(\S+)", bare)
            if refers is None:
                plain.append(bare)
                continue
            inner = normpath(join(dirname(path), refers[2]))
            wanted.append(own(plain))
            plain = []
            if refers[1] in {"-c", "--constraint"}:
                wanted.append(self.constraints(inner, depth + 1))
            else:
                wanted.append(self._file(inner, depth + 1, folder, bounds=bounds))
        return Requirements().plus(*wanted, own(plain))


def _unique(parts: Iterable[tuple[_Item, ...]]) -> tuple[_Item, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(parts)))
