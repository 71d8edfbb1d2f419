"""Text to words."""

import tracemalloc

import pytest

from bot.lessons.words import paths_of, words_of


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("addTwoNumbers", ("addtwonumbers", "add", "two", "numbers")),
        ("add_two_numbers", ("add_two_numbers", "add", "two", "numbers")),
        ("HTTPServer", ("httpserver", "http", "server")),
        ("assert 3 == -1", ()),
        ("the test is in a file", ()),
        ("KeyError: 'name'", ("keyerror", "key", "error", "name")),
    ],
)
def test_identifiers_are_split_and_noise_is_dropped(text: str, words: tuple[str, ...]) -> None:
    assert words_of([text]) == words


def test_words_are_distinct_and_bounded() -> None:
    assert words_of(["one One ONE two"]) == ("one", "two")
    assert (
        len(words_of([" ".join(f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(500))]))
        == 60
    )


def test_long_identifiers_take_little_memory() -> None:
    tracemalloc.start()
    for number in range(200):
        words_of(["".join(f"X{800 * number + n:x}" for n in range(800))])
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 5_000_000


def test_paths_are_told_from_words() -> None:
    words = [
        "src/a.py",
        "tests/test_a.py::test_x",
        "b.py:12:F401",
        "KeyError",
        "1.5",
        "e.g.",
        "package.module",
    ]
    assert paths_of(words) == {"src/a.py", "tests/test_a.py", "b.py"}
