"""From proposed changes to edits: pure, given the present contents."""

from collections.abc import Callable, Iterable

from sandbox.changes.paths import check_path, show
from sandbox.errors import ChangeRejected
from sandbox.types import ChangeAction, FileChange, FileEdit

Read = Callable[[str], bytes | None]
"""The present content of a file, None when there is none."""

MAX_FILE_BYTES = 1 << 20
MANY = 3
"""As many places as are counted."""


def paths_needed(changes: Iterable[FileChange]) -> tuple[str, ...]:
    """The paths `apply` is going to read, each checked.

    Raises:
        ChangeRejected: one of them may not be named.
    """
    found: dict[str, None] = {}
    for change in changes:
        found[check_path(change.path)] = None
        if change.action is ChangeAction.RENAME:
            found[check_path(change.content or "")] = None
    return tuple(found)


def apply(changes: Iterable[FileChange], read: Read) -> tuple[FileEdit, ...]:
    """What the files are after the changes, in the order they were touched first.

    Later changes see what earlier ones did. A mode is kept as 100644; the executable bit is the caller's to restore.

    Raises:
        ChangeRejected: a path is refused, the text searched for does not stand in exactly one place, a file is
            missing, there already, too large, or not text.
    """
    state = _State(read)
    for change in changes:
        path = check_path(change.path)
        match change.action:
            case ChangeAction.REPLACE:
                state.put(path, _replaced(path, state.get(path), change))
            case ChangeAction.CREATE:
                if state.get(path) is not None:
                    raise ChangeRejected(f"{show(path)} is there already and cannot be created")
                state.put(path, _encoded(path, change.content or ""))
            case ChangeAction.DELETE:
                state.remove(path)
            case ChangeAction.RENAME:
                target = check_path(change.content or "")
                if state.get(target) is not None:
                    raise ChangeRejected(f"{show(target)} is there already")
                state.put(target, state.remove(path))
    return state.edits()


class _State:
    """Files as they are after the changes so far."""

    def __init__(self, read: Read) -> None:
        self._read = read
        self._original: dict[str, bytes | None] = {}
        self._present: dict[str, bytes | None] = {}

    def get(self, path: str) -> bytes | None:
        if path not in self._present:
            self._original[path] = self._present[path] = self._read(path)
        return self._present[path]

    def put(self, path: str, content: bytes) -> None:
        self.get(path)
        self._present[path] = content

    def remove(self, path: str) -> bytes:
        content = self.get(path)
        if content is None:
            raise ChangeRejected(f"{show(path)} is not there")
        self._present[path] = None
        return content

    def edits(self) -> tuple[FileEdit, ...]:
        found = []
        for path, content in self._present.items():
            if content == self._original[path]:
                continue
            if content is None:
                found.append(FileEdit(path=path, mode="deleted"))
            else:
                found.append(FileEdit(path=path, mode="100644", content=content))
        return tuple(found)


def _replaced(path: str, present: bytes | None, change: FileChange) -> bytes:
    if change.content is None:
        raise ChangeRejected(f"the change of {show(path)} has no new content")
    if change.search_for is None:
        if present is None:
            raise ChangeRejected(f"{show(path)} is not there and cannot be replaced")
        return _encoded(path, change.content)
    if present is None:
        raise ChangeRejected(f"{show(path)} is not there")
    searched = change.search_for.encode("utf-8", "surrogatepass")
    content = _encoded(path, change.content)
    # A proposal speaks of lines; the file decides how its lines end.
    if b"\r\n" in present and b"\r\n" not in searched:
        searched, content = searched.replace(b"\n", b"\r\n"), content.replace(b"\n", b"\r\n")
    places = _places(present, searched)
    if places != 1:
        found = "is not there" if places == 0 else f"stands in {places} places"
        raise ChangeRejected(
            f"the text to replace in {show(path)} {found}; it must stand in exactly one",
            "Quote more of the surrounding lines." if places else "Quote the file exactly, with its spaces.",
        )
    return _sized(path, present.replace(searched, content, 1))


def _places(content: bytes, searched: bytes) -> int:
    """How often the text stands there, overlapping places counted too, up to three."""
    if not searched:
        return 0
    count, start = 0, content.find(searched)
    while start >= 0 and count < MANY:
        count += 1
        start = content.find(searched, start + 1)
    return count


def _encoded(path: str, text: str) -> bytes:
    try:
        return _sized(path, text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise ChangeRejected(f"the new content of {show(path)} is not valid Unicode") from error


def _sized(path: str, content: bytes) -> bytes:
    if len(content) > MAX_FILE_BYTES:
        raise ChangeRejected(f"the new content of {show(path)} is larger than {MAX_FILE_BYTES} bytes")
    return content
