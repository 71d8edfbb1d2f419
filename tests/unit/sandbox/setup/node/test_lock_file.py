"""Lock files of every manager are read for a report, and no address of ours or of others gets into one."""

import json

import pytest

from sandbox.setup.node.layout import Manager
from sandbox.setup.node.lock_file import (
    compare_packages,
    foreign_sources,
    read_packages,
    restore_addresses,
    restore_line_ends,
    restore_name,
)

PUBLIC = "https://registry.example/"
NPM = json.dumps(
    {
        "lockfileVersion": 3,
        "packages": {
            "": {"name": "web", "version": "1.0.0"},
            "node_modules/ms": {"version": "2.1.3"},
            "node_modules/@b/c": {"version": "1.0.0-rc.1"},
            "node_modules/debug/node_modules/ms": {"version": "2.0.0"},
            "node_modules/other": {"name": "real", "version": "3.0.0"},
            "node_modules/linked": {"resolved": "packages/linked", "link": True},
            "node_modules/`x`": {"version": "1.0.0"},
            "node_modules/y": {"version": "`1`"},
            "packages/linked": {"version": "1.0.0"},
            "node_modules/z": None,
        },
    }
)
OLD_NPM = json.dumps(
    {"dependencies": {"a": {"version": "1.0.0", "dependencies": {"ms": {"version": "2.0.0"}}}}}
)
PNPM_9 = """lockfileVersion: '9.0'
importers:
  .:
    dependencies:
      ms:
        specifier: 2.1.3
        version: 2.1.3
packages:
  '@b/c@1.0.0':
    resolution: {integrity: sha512-x}
  ms@2.1.3:
    resolution: {integrity: sha512-x}
snapshots:
  '@b/c@1.0.0(ms@2.1.3)':
    dependencies:
      ms: 2.1.3
  only-here@1.0.0: {}
"""
PNPM_5 = """lockfileVersion: 5.4
packages:
  /@b/c/1.0.0_ms@2.1.3:
    resolution: {integrity: sha512-x}
  /ms/2.1.3:
    resolution: {integrity: sha512-x}
"""
CLASSIC = """# yarn lockfile v1


"@b/c@^1.0.0", "@b/c@~1.0.0":
  version "1.0.0"
  resolved "https://registry.example/@b/c/-/c-1.0.0.tgz#aa"

ms@2.1.3:
  version "2.1.3"
  resolved "https://registry.example/ms/-/ms-2.1.3.tgz#bb"
"""
BERRY = """__metadata:
  version: 8
  cacheKey: 10c0

"@b/c@npm:^1.0.0":
  version: 1.0.0
  resolution: "@b/c@npm:1.0.0"

"ms@npm:2.1.3":
  version: 2.1.3
  resolution: "ms@npm:2.1.3"

"web@workspace:.":
  version: 0.0.0-use.local
"""
BUN = """{
  "packages": {
    "@b/c": ["@b/c@1.0.0", "", {}, "sha512-x"],

    "ms": ["ms@2.1.3", "", {}, "sha512-x"],
  }
}
"""


@pytest.mark.parametrize(
    ("manager", "text", "expected"),
    [
        ("npm", NPM, {"ms": "2.0.0 2.1.3", "@b/c": "1.0.0-rc.1", "real": "3.0.0"}),
        ("npm", OLD_NPM, {"a": "1.0.0", "ms": "2.0.0"}),
        ("npm", "{", {}),
        ("npm", "[" * 100_000, {}),
        ("npm", "[]", {}),
        ("pnpm", PNPM_9, {"@b/c": "1.0.0", "ms": "2.1.3"}),
        ("pnpm", PNPM_5, {"@b/c": "1.0.0", "ms": "2.1.3"}),
        ("yarn", CLASSIC, {"@b/c": "1.0.0", "ms": "2.1.3"}),
        ("yarn", BERRY, {"@b/c": "1.0.0", "ms": "2.1.3", "web": "0.0.0-use.local"}),
        ("bun", BUN, {"@b/c": "1.0.0", "ms": "2.1.3"}),
    ],
    ids=["npm", "npm 6", "cut", "deep", "list", "pnpm 9", "pnpm 7", "yarn 1", "yarn 4", "bun"],
)
def test_packages_are_read_with_their_versions(
    manager: Manager, text: str, expected: dict[str, str]
) -> None:
    found = read_packages(text, manager)
    assert {name: " ".join(sorted(versions)) for name, versions in found.items()} == expected
    assert read_packages(text.replace("\n", "\r\n"), manager) == found


def test_a_written_lock_file_keeps_the_line_ends_of_the_old_one() -> None:
    assert restore_line_ends("a\nb\n", "x\r\ny\r\n") == "a\r\nb\r\n"
    assert restore_line_ends("a\r\nb\n", "x\r\n") == "a\r\nb\r\n"
    for old in ("{}", "x\n", "x\r\ny\n"):
        assert restore_line_ends("a\nb\n", old) == "a\nb\n"


def test_what_differs_is_said_with_versions() -> None:
    before = {"ms": frozenset({"2.0.0"}), "gone": frozenset({"1.0.0"}), "same": frozenset({"1.0"})}
    after = {
        "ms": frozenset({"2.0.0", "2.1.3"}),
        "new": frozenset({"1.0.0"}),
        "same": before["same"],
    }
    assert compare_packages(before, after) == (
        "`gone` 1.0.0 is removed",
        "`ms` changes from 2.0.0 to 2.0.0 and 2.1.3",
        "`new` 1.0.0 is added",
    )


def test_addresses_of_the_operators_registry_stay_inside() -> None:
    """A package that the lock file had keeps its address; a new one gets the public registry's."""
    old = '"resolved": "https://npm.company.example/@b/c/-/c-1.0.0.tgz",\n'
    inside = "http://mirror.internal:8081/npm"
    new = f'"resolved": "{inside}/@b/c/-/c-1.0.0.tgz",\n"resolved": "{inside}/ms/-/ms-2.1.3.tgz",\n'
    assert restore_addresses(new, old, PUBLIC).splitlines() == [
        old.strip(),
        '"resolved": "https://registry.example/ms/-/ms-2.1.3.tgz",',
    ]
    fragment = f'  resolved "{inside}/ms/-/ms-2.1.3.tgz#bb"'
    expected = '  resolved "https://registry.example/ms/-/ms-2.1.3.tgz#bb"'
    assert restore_addresses(fragment, "", PUBLIC) == expected
    assert restore_addresses(fragment, CLASSIC, PUBLIC) == expected


@pytest.mark.parametrize(
    ("line", "is_foreign"),
    [
        ('"resolved": "https://registry.example/ms/-/ms-2.1.3.tgz",', False),
        ('  resolved "https://registry.example/ms/-/ms-2.1.3.tgz#aa"', False),
        ('"integrity": "sha512-6FlzubTLZG3J2a/NVCAleEhjzq5oxgHyaCU9yYXvcLsvoVaHJq/s5xXI6/XXP6tz7R9xAOtHnSO/tXtF3WRTlA==",', False),
        ('"url": "https://github.com/sponsors/x"', False),
        ('"deprecated": "see https://example.org",', False),
        ('"resolved": "https://evil.example/ms/-/ms-2.1.3.tgz",', True),
        ('"resolved": "http://registry.example/ms/-/ms-2.1.3.tgz",', True),
        ('"resolved": "https://registry.example@evil.example/x",', True),
        ('"resolved": "https://registry.example:444/x",', True),
        ('"resolved": "git+ssh://git@github.com/a/b.git#abc",', True),
        ('"resolved": "https://[/x",', True),
        ('  resolution: "ms@npm:2.1.3::__archiveUrl=https%3A%2F%2Fevil.example"', True),
        ("    resolution: {tarball: https://codeload.github.com/a/b/tar.gz/abc}", True),
        ('    "b": ["b@github:a/b#abc", {}],', True),
        ('    "url": ["url@https://evil.example/url.tgz", {}],', True),
        ('"funding": [', False),
    ],
)  # fmt: skip
def test_only_packages_of_the_public_registry_are_not_foreign(
    line: str, *, is_foreign: bool
) -> None:
    assert bool(foreign_sources(f"x\n{line}\n", (PUBLIC,))) is is_foreign


def test_a_project_without_a_name_keeps_that_of_its_lock_file() -> None:
    old, new = '{\n  "name": "web",\n  "x": {"name": "a"}\n}', '{\n  "name": "repo",\n  "y": 1\n}'
    assert restore_name(new, old) == '{\n  "name": "web",\n  "y": 1\n}'
    assert restore_name(new, "{}") == new
    # Quadratic work would take minutes.
    assert restore_name(new, "{" + "\n" * 500_000 + "}") == new
