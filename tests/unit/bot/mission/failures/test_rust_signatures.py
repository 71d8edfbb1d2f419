"""Messages of cargo about parts of the environment that are missing."""

import pytest

from bot.mission.failures.rust_signatures import missing_rust_part

OLD_CARGO = "lock file version `4` was found, but this version of Cargo does not understand"


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
        (
            "error: no matching package named `serde` found\nlocation searched: registry `crates-io`\n",
            "the crate `serde` is not vendored",
        ),
        (
            "  this version of Cargo is older than the `2024` edition, and only supports `2015`",
            "it needs another Rust: this version of Cargo is older than the `2024` edition",
        ),
        (
            f"  {OLD_CARGO} this lock file, perhaps Cargo needs to be updated?",
            f"it needs another Rust: {OLD_CARGO}",
        ),
        ("error: failed to download `serde v1.0.2`\n", "the crate `serde` is not vendored"),
        (
            "  attempting to make an HTTP request, but --offline was specified",
            "crates are missing",
        ),
        (
            "error: rustc 1.85.0 is not supported by the following package:\n  demo requires rustc 1.95",
            "it needs another Rust: requires rustc 1.95",
        ),
        ("error: linker `cc` not found", "the linker `cc` is not in the image"),
        ("error[E0425]: cannot find value `x` in this scope", None),
        # a folder of the repository itself that the commit forgot
        ("error: no matching package named `core` found\nlocation searched: /work/repo/core", None),
    ],
)
def test_a_missing_part_is_named(message: str, part: str | None) -> None:
    assert missing_rust_part(message) == part
