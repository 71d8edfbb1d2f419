"""The seeded type errors are a hundred, in two halves, and each changes one place of one file."""

from collections import Counter

from benchmarks.sets.typescript import seeded_errors


def test_there_are_a_hundred_in_two_halves_of_whole_files() -> None:
    errors = seeded_errors()
    assert len(errors) == 100
    assert Counter(error.half for error in errors) == {"seen": 50, "unseen": 50}
    files = {(error.project, error.path, error.half) for error in errors}
    assert len(files) == 10


def test_each_changes_its_file_only_and_is_another_one() -> None:
    errors = seeded_errors()
    assert all(error.files[error.path] != error.original for error in errors)
    texts = [(error.project, error.path, error.files[error.path]) for error in errors]
    assert len(set(texts)) == len(texts)
