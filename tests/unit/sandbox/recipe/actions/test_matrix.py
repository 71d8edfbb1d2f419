"""The cells of a matrix, as GitHub's documentation defines them."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.recipe.actions.matrix import MOST_CELLS, agrees, cell_words, expand_matrix, plain_cell
from sandbox.recipe.actions.values import Unknown, Value

CONTEXT: dict[str, Value] = {
    "needs": Unknown(("needs",)),
    "inputs": {"versions": '["3.9", "3.10"]'},
}


def cells(**matrix: Any) -> list[dict[str, Value]]:
    return expand_matrix({"matrix": matrix}, CONTEXT)[0]


def test_axes_are_multiplied_in_order() -> None:
    assert cells(os=["u", "w"], py=["3.9", 3.1]) == [
        {"os": "u", "py": "3.9"},
        {"os": "u", "py": 3.1},
        {"os": "w", "py": "3.9"},
        {"os": "w", "py": 3.1},
    ]


def test_a_job_without_a_matrix_has_one_cell() -> None:
    assert expand_matrix(None, CONTEXT) == ([{}], None)
    assert expand_matrix({"fail-fast": False}, CONTEXT) == ([{}], None)


def test_include_extends_what_it_does_not_contradict_and_adds_the_rest() -> None:
    """The rules one by one: added everywhere, overwritten when added, never an original value, else a new cell."""
    found = cells(
        fruit=["apple", "pear"],
        animal=["cat", "dog"],
        include=[
            {"color": "green"},
            {"color": "pink", "animal": "cat"},
            {"fruit": "apple", "shape": "circle"},
            {"fruit": "banana"},
            {"fruit": "banana", "animal": "cat"},
        ],
    )
    assert found == [
        {"fruit": "apple", "animal": "cat", "color": "pink", "shape": "circle"},
        {"fruit": "apple", "animal": "dog", "color": "green", "shape": "circle"},
        {"fruit": "pear", "animal": "cat", "color": "pink"},
        {"fruit": "pear", "animal": "dog", "color": "green"},
        {"fruit": "banana"},
        {"fruit": "banana", "animal": "cat"},
    ]


def test_include_alone_makes_its_own_cells() -> None:
    assert cells(include=[{"a": 1}, {"a": 2, "b": 3}]) == [{"a": 1}, {"a": 2, "b": 3}]


def test_exclude_takes_out_every_cell_it_fits_and_include_may_bring_one_back() -> None:
    found = cells(
        os=["u", "w"],
        py=["a", "b"],
        exclude=[{"os": "w"}, {"os": "u", "py": "b"}],
        include=[{"os": "w", "py": "a"}],
    )
    assert found == [{"os": "u", "py": "a"}, {"os": "w", "py": "a"}]


def test_exclude_may_name_a_part_of_a_mapping() -> None:
    found = cells(
        arch=[{"name": "arm", "bits": 64}, {"name": "x86", "bits": 32}],
        exclude=[{"arch": {"name": "arm"}}],
    )
    assert found == [{"arch": {"name": "x86", "bits": 32}}]


def test_numbers_and_their_texts_are_the_same_value() -> None:
    assert cells(py=[3.9, "3.11"], exclude=[{"py": "3.9"}]) == [{"py": "3.11"}]


def test_axes_may_be_expressions() -> None:
    assert cells(py="${{ fromJSON(inputs.versions) }}") == [{"py": "3.9"}, {"py": "3.10"}]
    assert cells(py=["${{ inputs.versions }}"]) == [{"py": '["3.9", "3.10"]'}]


def test_what_another_job_computes_is_unknown() -> None:
    assert cells(py="${{ fromJSON(needs.a.outputs.b) }}", os=["u"]) == [
        {"py": Unknown(("needs.a.outputs.b",)), "os": "u"}
    ]
    assert expand_matrix({"matrix": "${{ fromJSON(needs.a.outputs.b) }}"}, CONTEXT) == (
        [{}],
        Unknown(("needs.a.outputs.b",)),
    )


def test_a_cell_is_shown_by_its_values() -> None:
    cell: dict[str, Value] = {
        "os": "u",
        "x": {"py": 3.1, "deep": {"a": 1}},
        "flag": True,
        "none": None,
        "list": ["a"],
    }
    assert cell_words(cell) == ["u", "3.1", "1", "true", "a"]
    assert plain_cell(cell) == {"os": "u", "x.py": "3.1", "flag": "true", "none": ""}


def test_a_cell_agrees_with_what_is_wanted_and_an_unknown_value_with_anything() -> None:
    cell: dict[str, Value] = {"os": "u", "py": Unknown(("x",))}
    assert agrees(cell, {"os": "u", "py": "3.9"})
    assert not agrees(cell, {"os": "w"})
    assert not agrees(cell, {"nothing": "w"})


@pytest.mark.parametrize(
    "matrix",
    [
        *(
            7,
            "x",
            [],
            {},
            {"a": {}},
            {"a": []},
            {"a": None},
            {"include": 1},
            {"include": [1, None]},
            {"exclude": "x"},
        ),
        {"a": [1], "exclude": [{}]},
        {"a": [[1, 2], {"b": []}], "include": [{"a": [1]}]},
    ],
)
def test_odd_shapes_are_no_trouble(matrix: Any) -> None:
    found, unknown = expand_matrix({"matrix": matrix}, CONTEXT)
    assert found
    assert unknown is None


def test_there_are_never_more_cells_than_github_allows() -> None:
    assert len(cells(a=list(range(100)), b=list(range(100)), c=list(range(100)))) == MOST_CELLS


NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.sampled_from([1, "x", True, 2.5])
ENTRIES = st.lists(st.dictionaries(NAMES, VALUES, max_size=3), max_size=4)


@settings(max_examples=150, deadline=None)
@given(
    st.dictionaries(NAMES, st.lists(VALUES, min_size=1, max_size=3, unique_by=str), max_size=3),
    ENTRIES,
    ENTRIES,
)
def test_original_values_are_never_overwritten_and_no_excluded_cell_is_left(
    axes: dict[str, list[Any]], include: list[dict[str, Any]], exclude: list[dict[str, Any]]
) -> None:
    plain = cells(**axes, exclude=exclude) if axes else []
    found = cells(**axes, include=include, exclude=exclude)
    kept = [cell for cell in plain if cell]
    for before, after in zip(kept, found, strict=False):
        assert {name: after[name] for name in before} == before
    for cell in kept:
        for entry in exclude:
            assert not entry or any(
                name not in cell or str(cell[name]) != str(value) for name, value in entry.items()
            )
