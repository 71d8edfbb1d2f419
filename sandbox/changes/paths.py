"""Validation of edited paths: one canonical spelling below the checkout, on every file system."""

import re
import unicodedata

from sandbox.errors import ChangeRejected

MAX_PATH_BYTES = 400
MAX_COMPONENT_BYTES = 200
MAX_DEPTH = 40
MAX_SHOWN = 120
_RESERVED = re.compile(
    r"(?i)^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?$"
)
# Characters that a file system or a person may ignore: they are removed before the check.
_IGNORED = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-"
    "\u206f\ufe00-\ufe0f\ufeff]"
)
_GIT_NAMES = frozenset(
    {".git", ".gitmodules", ".gitattributes", ".gitconfig", ".lfsconfig", ".gitignore_global"}
)
# 8.3 short names of `.git` on Windows.
_GIT_SHORT = re.compile(r"^(?:git|gi[0-9a-f]{4})~\d+$")
_MARKUP = frozenset('<>"|?*`;\\:')
"""Separators and wildcards of Windows, and what would end a code span, a tag or a command in texts
and scripts that quote paths badly."""
_EXPANDED = re.compile(r"\$[({]|%[0-9A-Fa-f]{2}")
"""A command or variable of a shell or workflow, and a character encoded as in a URL.

Routes of web frameworks are named `$id.tsx`, so a lone sign is plain."""


def is_safe_path(path: str) -> bool:
    """Return True if an edit may use this path."""
    return why_unsafe(path) is None


def check_path(path: str) -> str:
    """Return the path if an edit may use it.

    Raises:
        ChangeRejected: The path leaves the checkout, reaches into git, or has another meaning on
            other systems.
    """
    reason = why_unsafe(path)
    if reason is not None:
        raise ChangeRejected(f"the path {show(path)} is refused: {reason}")
    return path


def why_unsafe(path: str) -> str | None:
    """Return the rule that a path breaks, or None."""
    try:
        size = len(path.encode("utf-8"))
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    if not path or size > MAX_PATH_BYTES:
        return "it is empty or too long"
    # `!` begins a negated pattern of git, Prettier and ESLint.
    if path.startswith(("/", "-", "~", "!")) or path.endswith("/"):
        return "it is not relative, or starts like an option or a pattern"
    if not path.isprintable():
        return "it has control, format or unassigned characters, or an unusual space"
    if not _MARKUP.isdisjoint(path) or _EXPANDED.search(path):
        return "it has special characters of a shell, of markup or of another system's paths"
    if unicodedata.normalize("NFC", path) != path:
        return "it is not in Unicode normal form C"
    parts = path.split("/")
    if len(parts) > MAX_DEPTH:
        return "it is too deep"
    return next((reason for part in parts if (reason := _why_unsafe_part(part)) is not None), None)


def _why_unsafe_part(part: str) -> str | None:
    if part in {"", ".", ".."}:
        return "it is not a canonical path below the checkout"
    if len(part.encode("utf-8")) > MAX_COMPONENT_BYTES:
        return "a name in it is too long"
    if part != part.strip() or part.endswith("."):
        return "a name in it begins or ends with a space or ends with a dot"
    if _RESERVED.match(part):
        return "a name in it is reserved on Windows"
    # Compare as macOS and Windows do: normalized, without trailing dots and spaces, without case.
    folded = _IGNORED.sub("", unicodedata.normalize("NFKC", part)).rstrip(". ").casefold()
    if folded in {"", ".", ".."} or folded in _GIT_NAMES or _GIT_SHORT.match(folded):
        return "a name in it belongs to git"
    return None


def show(path: str) -> str:
    """Escape and shorten a hostile path for a message."""
    text = ascii(path)
    return text if len(text) <= MAX_SHOWN else f"{text[:80]}...{text[-30:]}"
