"""A log of the treatment of each step of the job."""

from typing import Literal

from sandbox.types import Fidelity

_MOST_ENTRIES = 60
_MOST_KEPT = 20_000
_MOST_CHARACTERS = 200


class FidelityLog:
    """Collector of replayed, replaced and dropped steps, without control characters."""

    def __init__(self) -> None:
        self._entries: list[Fidelity] = []

    def replayed(self, step: str, reason: str = "") -> None:
        """Record that a step runs as in the job."""
        self._add(step, "replayed", reason)

    def replaced(self, step: str, reason: str) -> None:
        """Record that a substitute runs instead of a step."""
        self._add(step, "replaced", reason)

    def dropped(self, step: str, reason: str) -> None:
        """Record that a step does not run."""
        self._add(step, "dropped", reason)

    def entries(self) -> tuple[Fidelity, ...]:
        """Return the first entries for display, each once."""
        return tuple(dict.fromkeys(self._entries))[:_MOST_ENTRIES]

    def position(self) -> int:
        """Return the end of the log, for `since` and `forget`."""
        return len(self._entries)

    def since(self, position: int) -> list[Fidelity]:
        """Return all entries behind a position, also those that the display leaves out."""
        return self._entries[position:]

    def forget(self, position: int) -> None:
        """Remove all entries behind a position: another reading counts."""
        del self._entries[position:]

    def _add(
        self, step: str, treatment: Literal["replayed", "replaced", "dropped"], reason: str
    ) -> None:
        if len(self._entries) < _MOST_KEPT:
            entry = Fidelity(step=_one_line(step), treatment=treatment, reason=_one_line(reason))
            self._entries.append(entry)


def _one_line(text: str) -> str:
    begin = text[: 10 * _MOST_CHARACTERS]
    shown = "".join(character if character.isprintable() else " " for character in begin)
    return " ".join(shown.split())[:_MOST_CHARACTERS]
