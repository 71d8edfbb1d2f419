"""Bugs in two places, for a model that gives one half and a search that finds the other.

Written by hand for this set. In each a right program is broken in two places: `written` is more than an edit (a rule
that is missing, a method that is empty), so a search does not find it; `slip` is one small mistake somewhere else.
Every failing test runs through both places, so that neither half turns any of them green by itself. The scripted oracle
puts back what was `written` and leaves the slip. Hidden tests, which nobody sees, judge the result.
"""

from collections.abc import Mapping
from dataclasses import dataclass

Place = tuple[str, str, str]
"""A file, the right text in it, and the text that stands there instead."""


@dataclass(frozen=True)
class Halved:
    """One bug.

    Attributes:
        name: Names it.
        right: Path to the right text.
        written: What the oracle puts back.
        slip: What is left for the search.
        shown: Tests that everybody sees.
        hidden: Tests that judge.
    """

    name: str
    right: Mapping[str, str]
    written: Place
    slip: Place
    shown: str
    hidden: str

    @property
    def broken(self) -> dict[str, str]:
        """The program with both mistakes."""
        return without(without(dict(self.right), self.slip), self.written)


def without(files: dict[str, str], place: Place) -> dict[str, str]:
    """The files with one place broken.

    Raises:
        ValueError: the right text does not stand there exactly once.
    """
    path, right, wrong = place
    if files[path].count(right) != 1:
        raise ValueError(f"{right!r} does not stand once in {path}")
    return {**files, path: files[path].replace(right, wrong)}


INVOICE = Halved(
    name="invoice",
    right={
        "rates.py": """RATES = {"book": 5, "food": 10, "other": 20}
REDUCED_FROM = 100


def rate(kind, net):
    percent = RATES.get(kind, RATES["other"])
    if net >= REDUCED_FROM and percent > 5:
        percent -= 5
    return percent / 100
""",
        "invoice.py": """from rates import rate


def net_of(lines):
    return sum(price * count for price, count in lines)


def total(kind, lines, shipping=0):
    net = net_of(lines)
    return round(net + net * rate(kind, net) + shipping, 2)
""",
    },
    written=(
        "rates.py",
        """    percent = RATES.get(kind, RATES["other"])
    if net >= REDUCED_FROM and percent > 5:
        percent -= 5
    return percent / 100
""",
        "    return RATES[kind]\n",
    ),
    slip=(
        "invoice.py",
        "net + net * rate(kind, net) + shipping",
        "net - net * rate(kind, net) + shipping",
    ),
    shown="""from invoice import total


def test_books():
    assert total("book", [(10, 2), (4, 5)]) == 42
    assert total("book", [(10, 2)], shipping=3) == 24


def test_food_is_cheaper_in_large_orders():
    assert total("food", [(100, 1)]) == 105
    assert total("food", [(50, 1)], shipping=5) == 60


def test_what_is_not_listed():
    assert total("toy", [(10, 1)]) == 12
""",
    hidden="""from invoice import net_of, total


def test_more():
    assert total("toy", [(100, 2)], shipping=10) == 240
    assert total("book", [(200, 1)]) == 210
    assert total("food", [(99, 1)]) == 108.9
    assert total("other", []) == 0
    assert net_of([(2, 3), (1, 1)]) == 7
""",
)

HEAP = Halved(
    name="heap",
    right={
        "heap.py": """class Heap:
    def __init__(self):
        self.items = []

    def push(self, value):
        self.items.append(value)
        place = len(self.items) - 1
        while place > 0:
            above = (place - 1) // 2
            if self.items[above] <= self.items[place]:
                break
            self.swap(above, place)
            place = above

    def pop(self):
        first = self.items[0]
        last = self.items.pop()
        if self.items:
            self.items[0] = last
            self.sink(0)
        return first

    def sink(self, place):
        while True:
            below = 2 * place + 1
            if below >= len(self.items):
                return
            if below + 1 < len(self.items) and self.items[below + 1] < self.items[below]:
                below += 1
            if self.items[place] <= self.items[below]:
                return
            self.swap(place, below)
            place = below

    def swap(self, one, other):
        self.items[one], self.items[other] = self.items[other], self.items[one]
""",
    },
    written=(
        "heap.py",
        """        while True:
            below = 2 * place + 1
            if below >= len(self.items):
                return
            if below + 1 < len(self.items) and self.items[below + 1] < self.items[below]:
                below += 1
            if self.items[place] <= self.items[below]:
                return
            self.swap(place, below)
            place = below
""",
        "        pass\n",
    ),
    slip=("heap.py", "above = (place - 1) // 2", "above = (place + 1) // 2"),
    shown="""from heap import Heap


def drained(values):
    heap = Heap()
    for value in values:
        heap.push(value)
    return [heap.pop() for _ in values]


def test_they_come_out_in_order():
    assert drained([5, 3, 8, 1, 9, 2]) == [1, 2, 3, 5, 8, 9]


def test_equal_ones():
    assert drained([2, 1, 2, 1, 0, 7, 4]) == [0, 1, 1, 2, 2, 4, 7]


def test_the_smallest_is_always_on_top():
    heap = Heap()
    for value in [9, 4, 7, 3, 8, 2, 6, 1, 5]:
        heap.push(value)
        places = range(1, len(heap.items))
        assert all(heap.items[(place - 1) // 2] <= heap.items[place] for place in places)
    heap.pop()
    assert heap.items[0] == 2
    assert min(heap.items[1:3]) == 3
""",
    hidden="""from heap import Heap


def test_many():
    for step in (7, 11, 13, 29):
        values = [n * step % 61 for n in range(60)]
        heap = Heap()
        for value in values:
            heap.push(value)
        assert [heap.pop() for _ in values] == sorted(values)
""",
)

DURATION = Halved(
    name="duration",
    right={
        "units.py": """SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(number, unit):
    return number * SECONDS[unit]
""",
        "duration.py": """from units import seconds


def parts(text):
    found, number = [], ""
    for letter in text.replace(" ", ""):
        if letter.isdigit():
            number += letter
        else:
            found.append((int(number), letter))
            number = ""
    return found


def duration(text):
    return sum(seconds(number, unit) for number, unit in parts(text))
""",
    },
    written=(
        "duration.py",
        """    found, number = [], ""
    for letter in text.replace(" ", ""):
        if letter.isdigit():
            number += letter
        else:
            found.append((int(number), letter))
            number = ""
    return found
""",
        "    return [(int(text[:-1]), text[-1])]\n",
    ),
    slip=("units.py", '"h": 3600', '"h": 360'),
    shown="""from duration import duration


def test_hours_and_minutes():
    assert duration("1h30m") == 5400
    assert duration("2h 5m 10s") == 7510


def test_a_day_and_more():
    assert duration("1d2h") == 93600
""",
    hidden="""from duration import duration


def test_more():
    assert duration("10s") == 10
    assert duration("1d 1h 1m 1s") == 90061
    assert duration("12h") == 43200
    assert duration("") == 0
""",
)

ROMAN = Halved(
    name="roman",
    right={
        "letters.py": """VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}


def values(text):
    return [VALUES[letter] for letter in text.upper()]
""",
        "roman.py": """from letters import values


def number(text):
    numbers = values(text)
    total = 0
    for place, value in enumerate(numbers):
        after = numbers[place + 1] if place + 1 < len(numbers) else 0
        if value < after:
            total -= value
        else:
            total += value
    return total
""",
    },
    written=(
        "roman.py",
        """    total = 0
    for place, value in enumerate(numbers):
        after = numbers[place + 1] if place + 1 < len(numbers) else 0
        if value < after:
            total -= value
        else:
            total += value
    return total
""",
        "    return sum(numbers)\n",
    ),
    slip=("letters.py", '"L": 50', '"L": 500'),
    shown="""from roman import number


def test_what_stands_before_a_larger_one_is_taken_off():
    assert number("xliv") == 44
    assert number("LIX") == 59


def test_a_year():
    assert number("MCMXLIX") == 1949
    assert number("CDXL") == 440
""",
    hidden="""from roman import number


def test_more():
    assert number("LXXX") == 80
    assert number("MMXXIV") == 2024
    assert number("IX") == 9
    assert number("DCCCXC") == 890
    assert number("XC") == 90
""",
)

CACHE = Halved(
    name="cache",
    right={
        "cache.py": """class Cache:
    def __init__(self, size):
        self.size = size
        self.kept = {}

    def get(self, key, default=None):
        if key not in self.kept:
            return default
        value = self.kept.pop(key)
        self.kept[key] = value
        return value

    def put(self, key, value):
        self.kept.pop(key, None)
        self.kept[key] = value
        self.trim()

    def trim(self):
        while len(self.kept) > self.size:
            oldest = next(iter(self.kept))
            del self.kept[oldest]
""",
    },
    written=(
        "cache.py",
        """        if key not in self.kept:
            return default
        value = self.kept.pop(key)
        self.kept[key] = value
        return value
""",
        "        return self.kept.get(key, default)\n",
    ),
    slip=("cache.py", "while len(self.kept) > self.size:", "while len(self.kept) >= self.size:"),
    shown="""from cache import Cache


def test_what_was_read_last_stays():
    cache = Cache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert cache.get("a") == 1
    assert cache.get("b") is None
    assert cache.get("c") == 3


def test_three():
    cache = Cache(3)
    for key in "abc":
        cache.put(key, key.upper())
    assert cache.get("a") == "A"
    cache.put("d", "D")
    assert sorted(cache.kept) == ["a", "c", "d"]
""",
    hidden="""from cache import Cache


def test_more():
    cache = Cache(2)
    assert cache.get("x", 7) == 7
    cache.put("a", 1)
    cache.put("a", 2)
    cache.put("b", 3)
    assert cache.kept == {"a": 2, "b": 3}
    cache.get("a")
    cache.put("c", 4)
    assert list(cache.kept) == ["a", "c"]
    one = Cache(1)
    one.put("a", 1)
    one.put("b", 2)
    assert one.kept == {"b": 2}
""",
)

SPANS = Halved(
    name="spans",
    right={
        "spans.py": """def ordered(spans):
    turned = []
    for first, last in spans:
        if first > last:
            first, last = last, first
        turned.append((first, last))
    return sorted(turned)


def merged(spans):
    found = []
    for first, last in ordered(spans):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def covered(spans):
    return sum(last - first for first, last in merged(spans))
""",
    },
    written=(
        "spans.py",
        """    turned = []
    for first, last in spans:
        if first > last:
            first, last = last, first
        turned.append((first, last))
    return sorted(turned)
""",
        "    return list(spans)\n",
    ),
    slip=("spans.py", "max(found[-1][1], last)", "min(found[-1][1], last)"),
    shown="""from spans import covered, merged


def test_spans_in_any_order():
    assert merged([(5, 8), (4, 1), (3, 6)]) == [(1, 8)]
    assert merged([(9, 7), (1, 3), (2, 4)]) == [(1, 4), (7, 9)]


def test_how_much_is_covered():
    assert covered([(10, 6), (8, 12), (0, 2)]) == 8
    assert covered([(9, 1), (2, 3), (4, 5)]) == 8
""",
    hidden="""from spans import covered, merged


def test_more():
    assert merged([(1, 10), (2, 3)]) == [(1, 10)]
    assert merged([(1, 2), (2, 5), (5, 9)]) == [(1, 9)]
    assert merged([]) == []
    assert covered([(3, 1), (2, 7), (20, 30)]) == 16
""",
)

FIELDS = Halved(
    name="fields",
    right={
        "fields.py": """def fields(line):
    found, now, quoted = [], "", False
    for letter in line:
        if letter == '"':
            quoted = not quoted
        elif letter == "," and not quoted:
            found.append(now)
            now = ""
        else:
            now += letter
    found.append(now)
    return found
""",
        "table.py": """from fields import fields


def rows(text):
    lines = [line for line in text.splitlines() if line.strip()]
    names = fields(lines[0])
    return [dict(zip(names, fields(line))) for line in lines[1:]]


def column(text, name):
    return [row[name] for row in rows(text)]
""",
    },
    written=(
        "fields.py",
        """    found, now, quoted = [], "", False
    for letter in line:
        if letter == '"':
            quoted = not quoted
        elif letter == "," and not quoted:
            found.append(now)
            now = ""
        else:
            now += letter
    found.append(now)
    return found
""",
        '    return line.split(",")\n',
    ),
    slip=("table.py", "for line in lines[1:]]", "for line in lines[2:]]"),
    shown="""from table import column, rows

TEXT = 'name,place\\n"Berg, Ann",Bern\\nBob,"Rome, Italy"\\n'


def test_rows():
    assert rows(TEXT) == [
        {"name": "Berg, Ann", "place": "Bern"},
        {"name": "Bob", "place": "Rome, Italy"},
    ]


def test_column():
    assert column(TEXT, "name") == ["Berg, Ann", "Bob"]
    assert column('a,b\\n"1,2",3\\n', "b") == ["3"]
""",
    hidden="""from table import column, rows


def test_more():
    assert rows("a\\n") == []
    assert column('a,b\\n\\n1,"x"\\n2,"y,"\\n3,z\\n', "b") == ["x", "y,", "z"]
    assert rows('a,b\\n"",1\\n') == [{"a": "", "b": "1"}]
""",
)

ROUTES = Halved(
    name="routes",
    right={
        "graph.py": """class Graph:
    def __init__(self):
        self.edges = {}

    def add(self, one, other, length):
        self.edges.setdefault(one, []).append((other, length))
        self.edges.setdefault(other, []).append((one, length))

    def beside(self, place):
        return self.edges.get(place, [])
""",
        "routes.py": """import heapq


def distances(graph, start):
    known, waiting = {}, [(0, start)]
    while waiting:
        so_far, place = heapq.heappop(waiting)
        if place in known:
            continue
        known[place] = so_far
        for other, length in graph.beside(place):
            heapq.heappush(waiting, (so_far + length, other))
    return known


def distance(graph, start, end):
    return distances(graph, start).get(end)
""",
    },
    written=(
        "routes.py",
        """    known, waiting = {}, [(0, start)]
    while waiting:
        so_far, place = heapq.heappop(waiting)
        if place in known:
            continue
        known[place] = so_far
        for other, length in graph.beside(place):
            heapq.heappush(waiting, (so_far + length, other))
    return known
""",
        "    return {start: 0, **dict(graph.beside(start))}\n",
    ),
    slip=(
        "graph.py",
        "self.edges.setdefault(other, []).append((one, length))",
        "self.edges.setdefault(other, []).append((other, length))",
    ),
    shown="""from graph import Graph
from routes import distance


def a_graph():
    graph = Graph()
    graph.add("a", "b", 7)
    graph.add("c", "b", 1)
    graph.add("a", "c", 3)
    graph.add("d", "c", 5)
    return graph


def test_the_shorter_way_round():
    assert distance(a_graph(), "a", "b") == 4
    assert distance(a_graph(), "b", "d") == 6


def test_there_and_back():
    assert distance(a_graph(), "d", "a") == 8
    assert distance(a_graph(), "b", "a") == 4
    assert distance(a_graph(), "a", "d") == 8
""",
    hidden="""from graph import Graph
from routes import distance, distances


def test_more():
    graph = Graph()
    for place in range(9):
        graph.add(place, place + 1, 2)
    graph.add(9, 0, 3)
    assert distance(graph, 0, 8) == 5
    assert distance(graph, 8, 0) == 5
    assert distance(graph, 3, 0) == 6
    assert distance(graph, 0, "nowhere") is None
    assert len(distances(graph, 4)) == 10
""",
)

VERSIONS = Halved(
    name="versions",
    right={
        "versions.py": """from functools import total_ordering


@total_ordering
class Version:
    def __init__(self, text):
        self.text = text
        self.numbers, self.early = self.read(text)

    @staticmethod
    def read(text):
        main, _, early = text.partition("-")
        numbers = [int(part) for part in main.split(".")]
        while numbers and numbers[-1] == 0:
            numbers.pop()
        return tuple(numbers), early

    def key(self):
        return (self.numbers, self.early == "", self.early)

    def __eq__(self, other):
        return self.key() == other.key()

    def __lt__(self, other):
        return self.key() < other.key()

    def __hash__(self):
        return hash(self.key())


def newest(texts):
    return max((Version(text) for text in texts)).text
""",
    },
    written=(
        "versions.py",
        """        main, _, early = text.partition("-")
        numbers = [int(part) for part in main.split(".")]
        while numbers and numbers[-1] == 0:
            numbers.pop()
        return tuple(numbers), early
""",
        '        return tuple(text.split(".")), ""\n',
    ),
    slip=("versions.py", 'self.early == "", self.early)', 'self.early != "", self.early)'),
    shown="""from versions import Version, newest


def test_an_early_version_is_older():
    assert Version("1.10-rc1") < Version("1.10")
    assert newest(["1.9", "1.10-beta", "1.10"]) == "1.10"


def test_numbers_and_not_letters():
    assert newest(["2.9", "2.10-rc2", "2.10.0", "2.8.5"]) == "2.10.0"
    assert Version("1.10-beta") < Version("1.10") < Version("1.10.1")
""",
    hidden="""from versions import Version, newest


def test_more():
    assert Version("1.0") == Version("1")
    assert Version("1.0-alpha") < Version("1.0-beta") < Version("1.0")
    assert Version("10.0") > Version("9.9.9")
    assert newest(["0.1-dev", "0.0.9"]) == "0.1-dev"
    assert Version("3.1") != Version("3.1-rc1")
""",
)

BUCKETS = Halved(
    name="buckets",
    right={
        "buckets.py": """def bucket(value, low, high, count):
    if value <= low:
        return 0
    if value >= high:
        return count - 1
    return int((value - low) * count / (high - low))
""",
        "histogram.py": """from buckets import bucket


def histogram(values, low, high, count):
    counts = [0] * count
    for value in values:
        counts[bucket(value, low, high, count)] += 1
    return counts


def shares(values, low, high, count):
    counts = histogram(values, low, high, count)
    return [round(one / max(1, len(values)), 2) for one in counts]
""",
    },
    written=(
        "buckets.py",
        """    if value <= low:
        return 0
    if value >= high:
        return count - 1
    return int((value - low) * count / (high - low))
""",
        "    return int(value / count)\n",
    ),
    slip=(
        "histogram.py",
        "counts[bucket(value, low, high, count)] += 1",
        "counts[bucket(value, low, high, count)] = 1",
    ),
    shown="""from histogram import histogram, shares


def test_values_at_and_beyond_the_ends():
    assert histogram([0, 1, 5, 9, 10, 12, -3, 5, 5], 0, 10, 5) == [3, 0, 3, 0, 3]
    assert histogram([20, 25, 25, 29, 31], 20, 30, 2) == [1, 4]


def test_shares():
    assert shares([11, 12, 18, 30], 10, 20, 2) == [0.5, 0.5]
""",
    hidden="""from histogram import histogram, shares


def test_more():
    assert histogram([], 0, 1, 3) == [0, 0, 0]
    assert histogram(range(100), 0, 100, 4) == [25, 25, 25, 25]
    assert histogram([-5, -5, -5], 0, 10, 2) == [3, 0]
    assert shares([1, 1, 1, 9], 0, 10, 2) == [0.75, 0.25]
    assert shares([], 0, 1, 2) == [0.0, 0.0]
""",
)

LEDGER = Halved(
    name="ledger",
    right={
        "account.py": """class Account:
    def __init__(self, balance=0, limit=0):
        self.balance = balance
        self.limit = limit
        self.entries = []

    def book(self, amount, text):
        if self.balance + amount < -self.limit:
            raise ValueError("not enough money")
        self.balance += amount
        self.entries.append((text, amount))
""",
        "transfer.py": """def fee_of(amount):
    return max(1, amount // 100)


def transfer(source, target, amount):
    if amount <= 0:
        raise ValueError("nothing to transfer")
    fee = fee_of(amount)
    source.book(-(amount + fee), "sent")
    try:
        target.book(amount, "received")
    except ValueError:
        source.book(amount + fee, "returned")
        raise
    return fee
""",
    },
    written=(
        "transfer.py",
        """    if amount <= 0:
        raise ValueError("nothing to transfer")
    fee = fee_of(amount)
    source.book(-(amount + fee), "sent")
    try:
        target.book(amount, "received")
    except ValueError:
        source.book(amount + fee, "returned")
        raise
    return fee
""",
        """    source.balance -= amount
    target.balance += amount
    return 0
""",
    ),
    slip=(
        "account.py",
        "self.balance + amount < -self.limit",
        "self.balance + amount < self.limit",
    ),
    shown="""import pytest

from account import Account
from transfer import transfer


def test_the_limit_may_be_used():
    one, other = Account(100, limit=50), Account()
    assert transfer(one, other, 120) == 1
    assert (one.balance, other.balance) == (-21, 120)
    assert one.entries == [("sent", -121)]


def test_no_more_than_the_limit():
    one, other = Account(10, limit=5), Account(0, limit=0)
    with pytest.raises(ValueError):
        transfer(one, other, 15)
    assert (one.balance, one.entries, other.entries) == (10, [], [])
    transfer(one, other, 14)
    assert one.balance == -5
""",
    hidden="""import pytest

from account import Account
from transfer import fee_of, transfer


def test_more():
    one, other = Account(1000), Account(5, limit=20)
    assert transfer(one, other, 500) == 5
    assert (one.balance, other.balance) == (495, 505)
    with pytest.raises(ValueError):
        transfer(one, other, 0)
    transfer(other, one, 500)
    assert other.balance == 0
    assert fee_of(7) == 1
""",
)

MATRIX = Halved(
    name="matrix",
    right={
        "vectors.py": """def dot(one, other):
    if len(one) != len(other):
        raise ValueError("the vectors differ in length")
    return sum(a * b for a, b in zip(one, other))
""",
        "matrix.py": """from vectors import dot


def columns(matrix):
    width = len(matrix[0]) if matrix else 0
    return [[row[place] for row in matrix] for place in range(width)]


def product(one, other):
    turned = columns(other)
    return [[dot(row, column) for column in turned] for row in one]


def power(matrix, exponent):
    result = [[int(row == column) for column in range(len(matrix))] for row in range(len(matrix))]
    while exponent:
        if exponent % 2:
            result = product(result, matrix)
        matrix = product(matrix, matrix)
        exponent //= 2
    return result
""",
    },
    written=(
        "matrix.py",
        """    result = [[int(row == column) for column in range(len(matrix))] for row in range(len(matrix))]
    while exponent:
        if exponent % 2:
            result = product(result, matrix)
        matrix = product(matrix, matrix)
        exponent //= 2
    return result
""",
        "    return [[value**exponent for value in row] for row in matrix]\n",
    ),
    slip=(
        "matrix.py",
        "[row[place] for row in matrix] for place in range(width)]",
        "[row[place] for row in matrix] for place in range(1, width)]",
    ),
    shown="""from matrix import power


def test_fibonacci():
    assert power([[1, 1], [1, 0]], 10) == [[89, 55], [55, 34]]
    assert power([[1, 1], [1, 0]], 5) == [[8, 5], [5, 3]]


def test_a_turn():
    assert power([[0, -1], [1, 0]], 4) == [[1, 0], [0, 1]]
    assert power([[2, 0, 1], [0, 1, 0], [0, 3, 1]], 2) == [[4, 3, 3], [0, 1, 0], [0, 6, 1]]
""",
    hidden="""from matrix import columns, power, product


def test_more():
    assert power([[3]], 4) == [[81]]
    assert power([[1, 2], [3, 4]], 0) == [[1, 0], [0, 1]]
    assert product([[1, 2]], [[3], [4]]) == [[11]]
    assert columns([[1, 2, 3], [4, 5, 6]]) == [[1, 4], [2, 5], [3, 6]]
    assert columns([]) == []
""",
)

TEMPLATE = Halved(
    name="template",
    right={
        "escape.py": """SPECIAL = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


def escaped(value):
    if value is None:
        return ""
    text = str(value)
    return "".join(SPECIAL.get(letter, letter) for letter in text)
""",
        "template.py": """import re

from escape import escaped

GAP = re.compile(r"\\{(\\w+)(?::(\\w+))?\\}")


def filled(text, values):
    def put(match):
        value = values.get(match[1])
        if match[2] == "upper" and value is not None:
            value = value.upper()
        return escaped(value)

    return GAP.sub(put, text)
""",
    },
    written=(
        "escape.py",
        """    if value is None:
        return ""
    text = str(value)
    return "".join(SPECIAL.get(letter, letter) for letter in text)
""",
        "    return value\n",
    ),
    slip=("template.py", "values.get(match[1])", "values.get(match[0])"),
    shown="""from template import filled


def test_values_are_escaped():
    assert filled("<p>{text}</p>", {"text": "a < b & c"}) == "<p>a &lt; b &amp; c</p>"
    assert filled("{a} {b}", {"a": 1, "b": '"'}) == "1 &quot;"


def test_what_is_missing_is_nothing():
    assert filled("[{a}{none}]", {"a": ">"}) == "[&gt;]"
    assert filled("{name:upper}!", {"name": "<ann>"}) == "&lt;ANN&gt;!"
""",
    hidden="""from template import filled


def test_more():
    assert filled("{a:upper}{b:upper}", {"a": "x"}) == "X"
    assert filled("no gap", {}) == "no gap"
    assert filled("{x}{x}", {"x": 2.5}) == "2.52.5"
    assert filled("{x}", {"x": None}) == ""
""",
)

SCHEDULE = Halved(
    name="schedule",
    right={
        "days.py": """HOLIDAYS = {"01-01", "12-25"}


def is_free(day):
    return day.weekday() >= 5 or day.strftime("%m-%d") in HOLIDAYS
""",
        "schedule.py": """from datetime import timedelta

from days import is_free


def after(day, working_days):
    step = timedelta(days=1)
    while working_days > 0 or is_free(day):
        day += step
        if not is_free(day):
            working_days -= 1
    return day
""",
    },
    written=(
        "schedule.py",
        """    step = timedelta(days=1)
    while working_days > 0 or is_free(day):
        day += step
        if not is_free(day):
            working_days -= 1
    return day
""",
        "    return day + timedelta(days=working_days)\n",
    ),
    slip=("days.py", "day.weekday() >= 5 or", "day.weekday() > 5 or"),
    shown="""from datetime import date

from schedule import after


def test_over_a_weekend():
    assert after(date(2024, 3, 1), 1) == date(2024, 3, 4)
    assert after(date(2024, 3, 1), 6) == date(2024, 3, 11)


def test_over_a_holiday():
    assert after(date(2024, 12, 24), 3) == date(2024, 12, 30)
    assert after(date(2024, 3, 2), 0) == date(2024, 3, 4)
""",
    hidden="""from datetime import date

from schedule import after


def test_more():
    assert after(date(2024, 3, 5), 0) == date(2024, 3, 5)
    assert after(date(2024, 3, 5), 2) == date(2024, 3, 7)
    assert after(date(2025, 12, 31), 1) == date(2026, 1, 2)
    assert after(date(2024, 3, 9), 1) == date(2024, 3, 11)
""",
)

HYBRID = (
    INVOICE,
    HEAP,
    DURATION,
    ROMAN,
    CACHE,
    SPANS,
    FIELDS,
    ROUTES,
    VERSIONS,
    BUCKETS,
    LEDGER,
    MATRIX,
    TEMPLATE,
    SCHEDULE,
)
