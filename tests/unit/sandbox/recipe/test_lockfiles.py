"""Lock files bind versions, and nothing else."""

import pytest

from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import CheckoutFiles
from sandbox.recipe.lockfiles import is_lock, read_lock

UV = '[[package]]\nname = "A_b"\nversion = "1.0"\nsource = { registry = "https://example.org" }\ndependencies = [\n    { name = "c" },\n]\n'
LOCKS = {
    "uv.lock": (UV, ("a-b==1.0",)),
    "poetry.lock": (
        '[[package]]\nname = "a"\nversion = "1.0"\n\n[package.dependencies]\nname = "x"\nversion = "9"\n',
        ("a==1.0",),
    ),
    "pdm.lock": (
        '[metadata]\nname = "no"\n[[package]]\nname = "a"\nversion = "1.0"\n',
        ("a==1.0",),
    ),
    "pylock.toml": (
        'lock-version = "1.0"\n[[packages]]\nname = "a"\nversion = "1.0"\n',
        ("a==1.0",),
    ),
    "Pipfile.lock": (
        '{"default": {"a": {"version": "==1.0"}, "b": {"git": "x"}}, "develop": 3}',
        ("a==1.0",),
    ),
}


def pins(name: str, text: str) -> tuple[str, ...]:
    return read_lock(CheckoutFiles({name: text.encode()}, None, FidelityLog()), ".", name)


@pytest.mark.parametrize("name", LOCKS)
def test_the_versions_of_a_lock(name: str) -> None:
    assert is_lock(name)
    assert pins(name, LOCKS[name][0]) == LOCKS[name][1]


FOREIGN = (
    '[[package]]\nname = "a"\nversion = "1"\nsource = { git = "https://example.org/a" }\n',
    '[[package]]\nname = "a"\nversion = "1"\nsource = { editable = "." }\n',
    '[[package]]\nname = "a"\nversion = "1"\n[package.source]\ntype = "git"\n',
    '[[package]]\nname = "a"\nversion = "1"\n[[package]]\nname = "a"\nversion = "2"\n',
    '[[package]]\nname = "a b; rm"\nversion = "1"\n',
    '[[package]]\nname = "a"\nversion = "1 --index-url x"\n',
    '[[package]]\nname = "a"\n',
    "",
    "[[[[",
)


@pytest.mark.parametrize("text", FOREIGN)
def test_what_is_no_one_version_of_an_index_binds_nothing(text: str) -> None:
    assert pins("uv.lock", text) == ()


def test_a_lock_that_was_not_read_is_told() -> None:
    log = FidelityLog()
    assert read_lock(CheckoutFiles({}, ("uv.lock",), log), ".", "uv.lock") == ()
    assert "too large" in log.entries()[0].reason


def test_versions_for_different_pythons_are_bound_by_their_markers() -> None:
    entry = '[[package]]\nname = "a"\nversion = "{}"\nsource = {{ registry = "x" }}\nresolution-markers = [\n    "{}",\n]\n'
    text = entry.format("1", "python_full_version < '3.10'") + entry.format(
        "2", "python_full_version == '3.11.*'"
    )
    assert pins("uv.lock", text) == (
        "a==1 ; (python_full_version < '3.10')",
        "a==2 ; (python_full_version == '3.11.*')",
    )
