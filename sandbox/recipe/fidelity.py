"""A log of the treatment of each step of the job."""

from typing import Literal

from sandbox.types import Fidelity

_MOST_ENTRIES = 60
_MOST_CHARACTERS = 200


class FidelityLog:
    """Collector of replayed, replaced and dropped steps; limited, without control characters."""

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
        """Return all entries so far."""
        return tuple(self._entries)

    def forget(self, kept: int) -> None:
        """Remove all entries but the first ones: another reading counts.

        Args:
            kept: The number of entries that stay.
        """
        del self._entries[kept:]

    def _add(
        self, step: str, treatment: Literal["replayed", "replaced", "dropped"], reason: str
    ) -> None:
        if len(self._entries) >= _MOST_ENTRIES:
            return
        entry = Fidelity(step=_one_line(step), treatment=treatment, reason=_one_line(reason))
        if entry not in self._entries:
            self._entries.append(entry)


def _one_line(text: str) -> str:
    begin = text[: 10 * _MOST_CHARACTERS]
    shown = "".join(character if character.isprintable() else " " for character in begin)
    return " ".join(shown.split())[:_MOST_CHARACTERS]
