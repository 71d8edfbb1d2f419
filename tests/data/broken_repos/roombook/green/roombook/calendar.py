"""Bookings of one room."""

from roombook.slots import Slot, free_slots

OPENING = 8 * 60
CLOSING = 18 * 60


class Taken(Exception):
    """Somebody else has the room."""


class Calendar:
    def __init__(self):
        self._bookings = {}

    def book(self, who, start, end):
        wanted = Slot(start, end)
        for owner, slot in self._all():
            if slot.overlaps(wanted):
                raise Taken(owner)
        self._bookings.setdefault(who, []).append(wanted)
        return wanted

    def who_has(self, minute):
        for owner, slot in self._all():
            if slot.contains(minute):
                return owner
        return None

    def longest_gap(self):
        gaps = free_slots([slot for _, slot in self._all()], OPENING, CLOSING)
        return max((gap.minutes for gap in gaps), default=0)

    def _all(self):
        for owner, slots in self._bookings.items():
            for slot in slots:
                yield owner, slot
