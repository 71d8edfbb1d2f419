"""The seeded type errors are more than a hundred, in two parts, and each changes one place of one file."""

from collections import Counter

from benchmarks.sets.typescript import seeded_errors


def test_there_are_enough_in_two_parts_of_whole_projects() -> None:
    errors = seeded_errors()
    assert Counter(error.part for error in errors) == {"seen": 100, "unseen": 20}
    assert len({(error.project, error.part) for error in errors}) == 3


def test_each_changes_its_file_only_and_is_another_one() -> None:
    errors = seeded_errors()
    assert all(error.files[error.path] != error.original for error in errors)
    texts = [(error.project, error.path, error.files[error.path]) for error in errors]
    assert len(set(texts)) == len(texts)
