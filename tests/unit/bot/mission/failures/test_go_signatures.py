"""Messages of Go about parts of the environment that are missing."""

import pytest

from bot.mission.failures.go_signatures import missing_go_part

OWN = ("example.org/m/api", "github.com/me/shop/cart")


@pytest.mark.parametrize(
    ("message", "part"),
    [
        (
            "y.go:3:8: no required module provides package github.com/x/y; to add it:",
            "no module that `go.mod` and `go.sum` name has the package `github.com/x/y`",
        ),
        (
            "v.go:2:8: missing go.sum entry for module providing package example.org/x/y (imported",
            "no module that `go.mod` and `go.sum` name has the package `example.org/x/y`",
        ),
        (
            "go: go.mod requires go >= 1.99 (running go 1.24.11; GOTOOLCHAIN=local)",
            "it needs another Go: requires go >= 1.99",
        ),
        ("go: inconsistent vendoring in /work/repo:", "`vendor` does not fit `go.mod`"),
        (
            "v.go:2:8: module lookup disabled by GOPROXY=off",
            "the modules of `go.mod` are not downloaded",
        ),
        (
            'cgo: C compiler "gcc" not found: exec: "gcc": executable file not found in $PATH',
            "the C compiler `gcc` is not in the image",
        ),
        (
            "cg/c.go:2:11: fatal error: foo/bar.h: No such file or directory",
            "the header `foo/bar.h` is not in the image",
        ),
        (
            "Package libpng was not found in the pkg-config search path.",
            "the library `libpng` is not in the image",
        ),
        ("a_test.go:7: got 1, want 2", None),
        ("undefined: x", None),
        # a package of the repository itself that the commit forgot
        ("no required module provides package example.org/m/missing; to add it:", None),
        ("no required module provides package github.com/me/shop/missing; to add it:", None),
    ],
)
def test_a_missing_part_is_named(message: str, part: str | None) -> None:
    assert missing_go_part(message, OWN) == part
