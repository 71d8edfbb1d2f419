"""Half-open spans of minutes since midnight."""


class Slot:
    """From `start` up to, but not including, `end`."""

    def __init__(self, start, end):
        if end <= start:
            raise ValueError("a slot ends after it starts")
        self.start = start
        self.end = end

    def overlaps(self, other):
        return self.start < other.end and other.start < self.end

    def contains(self, minute):
        return self.start <= minute < self.end

    @property
    def minutes(self):
        return self.end - self.start


def free_slots(taken, opening, closing):
    """The gaps between taken slots of one day."""
    gaps = []
    cursor = opening
    for slot in sorted(taken, key=lambda s: s.start):
        if slot.start > cursor:
            gaps.append(Slot(cursor, slot.start))
        cursor = max(cursor, slot.end)
    if cursor < closing:
        gaps.append(Slot(cursor, closing))
    return gaps
