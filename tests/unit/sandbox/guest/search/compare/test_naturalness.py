"""Token statistics: the usual is less surprising than the unusual, and nothing hostile stops them."""

import pytest

from sandbox.guest.search.compare.naturalness import Language, surprise, tokenize_lines

REPOSITORY = (
    b"def area(width, height):\n    return width * height\n\n\n"
    b"def volume(width, height, depth):\n    return width * height * depth\n\n\n"
    b"def first(items):\n    if items is None:\n        return None\n    return items[0]\n\n\n"
    b"def last(items):\n    if items is None:\n        return None\n    return items[-1]\n"
)
OLD = b"def side(width, height):\n    if width == None:\n        return None\n    return width + height\n"


def told(new: bytes) -> tuple[float, bool]:
    return surprise(Language([REPOSITORY, OLD], OLD), OLD, new)


def test_what_the_repository_usually_writes_is_less_surprising() -> None:
    usual, _ = told(OLD.replace(b"== None", b"is None"))
    unusual, _ = told(OLD.replace(b"== None", b">= None"))
    assert usual < unusual


def test_names_of_the_file_are_expected_in_it() -> None:
    known, _ = told(OLD.replace(b"width + height", b"width + width"))
    unknown, _ = told(OLD.replace(b"width + height", b"width + girth"))
    assert known < unknown


def test_a_line_that_stands_elsewhere_is_a_donor() -> None:
    assert told(OLD.replace(b"return width + height", b"return width * height"))[1]
    assert not told(OLD.replace(b"return width + height", b"return width - height"))[1]


def test_no_change_is_no_surprise() -> None:
    assert told(OLD) == (0.0, False)


def test_added_and_removed_lines_are_measured() -> None:
    added, _ = told(
        OLD.replace(
            b"    return width +",
            b"    if height is None:\n        return None\n    return width +",
        )
    )
    removed, _ = told(OLD.replace(b"    if width == None:\n        return None\n", b""))
    assert added > 0.0
    assert removed < 0.0


@pytest.mark.parametrize(
    "data", [b"", b"x = (\n", b"'''", b"\xff\xfe", b"if x:\n  y\n z\n", b"\x00"]
)
def test_what_is_no_python_ends_quietly(data: bytes) -> None:
    assert isinstance(tokenize_lines(data), list)
    Language([data], data)


def test_spans_of_tokens_count_bytes() -> None:
    (row,) = tokenize_lines("é = 'ü' + b\n".encode())
    assert [(token.start, token.end) for token in row] == [
        (0, 2),
        (3, 4),
        (5, 9),
        (10, 11),
        (12, 13),
    ]
