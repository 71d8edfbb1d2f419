"""Which paths an edit may name at all: one plain spelling of a file below the checkout, on every file system."""

import re
import unicodedata

from sandbox.errors import ChangeRejected

MAX_PATH_BYTES = 400
MAX_COMPONENT_BYTES = 200
MAX_DEPTH = 40
MAX_SHOWN = 120
_RESERVED = re.compile(r"(?i)^(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?$")
# Characters a file system or a person may ignore: what is left after them decides.
_IGNORED = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]"
)
_GIT_NAMES = frozenset({".git", ".gitmodules", ".gitattributes", ".gitconfig", ".lfsconfig", ".gitignore_global"})
_GIT_SHORT = re.compile(r"^(?:git|gi[0-9a-f]{4})~\d+$")
_MARKUP = frozenset("<>\"|?*`$;&'\\:%!")


def is_safe_path(path: str) -> bool:
    """Whether an edit may name this path at all."""
    return why_unsafe(path) is None


def check_path(path: str) -> str:
    """The path itself, when an edit may name it.

    Raises:
        ChangeRejected: it leaves the checkout, reaches into git, or is spelled in a way that means something else
            elsewhere.
    """
    reason = why_unsafe(path)
    if reason is not None:
        raise ChangeRejected(f"the path {show(path)} is refused: {reason}")
    return path


def why_unsafe(path: str) -> str | None:
    """The rule a path breaks, or None."""
    try:
        size = len(path.encode("utf-8"))
    except UnicodeEncodeError:
        return "it is not valid Unicode"
    if not path or size > MAX_PATH_BYTES:
        return "it is empty or too long"
    if path.startswith(("/", "-", "~")) or path.endswith("/"):
        return "it is not relative, or starts like an option"
    if not path.isprintable():
        return "it has control, format or unassigned characters, or a space that is not the usual one"
    if not _MARKUP.isdisjoint(path):
        return "it has characters of a shell, of markup or of another system's paths"
    if unicodedata.normalize("NFC", path) != path:
        return "it is not in the usual Unicode form"
    parts = path.split("/")
    if len(parts) > MAX_DEPTH:
        return "it is too deep"
    return next((reason for part in parts if (reason := _why_unsafe_part(part)) is not None), None)


def _why_unsafe_part(part: str) -> str | None:
    if part in {"", ".", ".."}:
        return "it is not a plain path below the checkout"
    if len(part.encode("utf-8")) > MAX_COMPONENT_BYTES:
        return "a name in it is too long"
    if part != part.strip() or part.endswith("."):
        return "a name in it begins or ends with a space or ends with a dot"
    if _RESERVED.match(part):
        return "a name in it is reserved on Windows"
    folded = _IGNORED.sub("", unicodedata.normalize("NFKC", part)).rstrip(". ").casefold()
    if folded in {"", ".", ".."} or folded in _GIT_NAMES or _GIT_SHORT.match(folded):
        return "a name in it belongs to git"
    return None


def show(path: str) -> str:
    """A hostile path as it may stand in a message: escaped and short."""
    text = ascii(path)
    return text if len(text) <= MAX_SHOWN else f"{text[:80]}...{text[-30:]}"
