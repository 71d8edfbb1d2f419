"""Which requested package the installer blames. Every message was printed by uv 0.13.9."""

import pytest

from sandbox.guest.unavailable import read_unavailable

NO_SOLUTION = "error: No solution found when resolving dependencies\n  cause: "
OTHER_PYTHON = f"""{NO_SOLUTION}Because newpy==1.0 requires Python >=3.99 and only newpy==1.0 is available, we can conclude that all versions of newpy cannot be used.
         And because you require newpy, we can conclude that your requirements are unsatisfiable.
"""
CAUSES = [
    (
        f"""{NO_SOLUTION}Because otherabi==1.0 has no wheels with a matching Python ABI tag (e.g., `cp311`) and only otherabi==1.0 is available, we can conclude that all versions of otherabi cannot be used.
         And because you require otherabi, we can conclude that your requirements are unsatisfiable.

hint: You require CPython 3.11 (`cp311`), but we only found wheels for `otherabi` (v1.0) with the following Python ABI tag: `cp39`
""",
        "otherabi",
        "no wheel",
    ),
    (
        f"""{NO_SOLUTION}Because otherabi==1.0 has no wheels with a matching Python ABI tag (e.g., `cp311`) and only otherabi==1.0 is available, we can conclude that all versions of otherabi cannot be used.
         And because all versions of parent depend on otherabi, we can conclude that all versions of parent cannot be used.
         And because all versions of grand depend on parent and you require grand, we can conclude that your requirements are unsatisfiable.
""",
        "grand",
        "no wheel",
    ),
    (
        f"""{NO_SOLUTION}Because all versions of onlysrc have no usable wheels and you require onlysrc, we can conclude that your requirements are unsatisfiable.

hint: Wheels are required for `onlysrc` because building from source is disabled for all packages (i.e., with `--no-build`)
""",
        "onlysrc",
        "no wheel",
    ),
    (
        f"""{NO_SOLUTION}Because otherabi[fast]==1.0 has no wheels with a matching Python ABI tag (e.g., `cp311`) and only otherabi[fast]==1.0 is available, we can conclude that all versions of otherabi[fast] cannot be used.
         And because you require otherabi[fast], we can conclude that your requirements are unsatisfiable.
""",
        "otherabi",
        "no wheel",
    ),
    (
        f"""{NO_SOLUTION}Because otherabi==1.0 has no wheels with a matching Python ABI tag (e.g., `cp311`) and you require otherabi==1.0, we can conclude that your requirements are unsatisfiable.
""",
        "otherabi",
        "no wheel",
    ),
    (OTHER_PYTHON, "newpy", "another Python"),
    (
        f"{NO_SOLUTION}Because gone was not found in the package registry and you require gone, we can conclude that your requirements are unsatisfiable.\n",
        "gone",
        "not in the package index",
    ),
]


@pytest.mark.parametrize(("said", "name", "reason"), CAUSES)
def test_the_requested_package_is_read_with_the_reason(said: str, name: str, reason: str) -> None:
    blamed = read_unavailable(said)
    assert blamed is not None
    assert blamed.name == name
    assert reason in blamed.reason


@pytest.mark.parametrize(
    "said",
    [
        f"{NO_SOLUTION}Because only good==1.0 is available and you require good>=2, we can conclude that your requirements are unsatisfiable.",
        f"{NO_SOLUTION}Because you require good<1 and good>=1, we can conclude that your requirements are unsatisfiable.",
        f"""{NO_SOLUTION}Because all versions of wanttwo depend on dep>=2 and all versions of wantone depend on dep<2, we can conclude that all versions of wantone and all versions of wanttwo are incompatible.
         And because you require wantone and wanttwo, we can conclude that your requirements are unsatisfiable.""",
        f"""{NO_SOLUTION}Because all versions of wantone depend on dep<2 and you require wantone, we can conclude that you require dep<2.
         And because you require dep>=2, we can conclude that your requirements are unsatisfiable.""",
        "error: Failed to fetch: http://127.0.0.1:9/simple/wantone/\n  cause: tcp connect error",
        "",
    ],
    ids=["version", "contradiction", "conflict", "bounds", "outage", "nothing"],
)
def test_conflicts_and_outages_blame_nothing(said: str) -> None:
    assert read_unavailable(said) is None


def test_an_index_that_refuses_access_blames_nothing() -> None:
    hint = "\nhint: An index URL (https://index.example/simple) could not be queried due to a lack of valid authentication credentials (403 Forbidden)."
    assert read_unavailable(CAUSES[-1][0] + hint) is None


def test_a_second_name_planted_in_a_reason_of_the_index_blames_nothing() -> None:
    yanked = " (reason: broken and you require numpy, we can conclude)"
    assert read_unavailable(OTHER_PYTHON + yanked) is None
