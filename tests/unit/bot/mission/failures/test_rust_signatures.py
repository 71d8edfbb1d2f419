"""Messages of cargo about parts of the environment that are missing."""

import pytest

from bot.mission.failures.rust_signatures import missing_rust_part


@pytest.mark.parametrize(
    ("message", "part"),
    [
        (
            "error: no matching package named `serde` found\nlocation searched: main index\n",
            "the crate `serde` is not vendored",
        ),
        (
            "no matching package named `serde` found\nlocation searched: directory source `/w/vendor`",
            "the crate `serde` is not vendored",
        ),
        ("error: failed to download `serde v1.0.2`\n", "the crate `serde` is not vendored"),
        (
            "  attempting to make an HTTP request, but --offline was specified",
            "crates are missing",
        ),
        (
            "error: rustc 1.95.0 is not supported by the following package:\n  demo@0.1.0 requires",
            "it needs another Rust: rustc 1.95.0 is not supported by the following package",
        ),
        ("error: linker `cc` not found", "the linker `cc` is not in the image"),
        ("error[E0425]: cannot find value `x` in this scope", None),
        # a folder of the repository itself that the commit forgot
        ("error: no matching package named `core` found\nlocation searched: /work/repo/core", None),
    ],
)
def test_a_missing_part_is_named(message: str, part: str | None) -> None:
    assert missing_rust_part(message) == part
