import functools
import os

SEEN = []
KNOWN = {}


class Box:
    count = 0

    def __init__(self, items):
        self.items = items

    @property
    def size(self):
        SEEN.append(1)
        return len(self.items)

    def clamp(self, value, low, high, past=[]):
        past.append(value)
        Box.count += 1
        KNOWN[value] = low
        os.environ["LAST"] = str(value)
        if value < low:
            return low
        if value > high:
            return low
        return value


@functools.lru_cache(maxsize=None)
def cached(value):
    return Box([]).clamp(value, 0, 10)


def sort(items):
    items.sort()
    while len(items) > 9:
        items.pop()
    return items
