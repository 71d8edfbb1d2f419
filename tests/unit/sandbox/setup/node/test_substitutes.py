"""A lock file with a withdrawn release names the nearest one that the registry still has."""

import json

import pytest

from sandbox.setup.node.layout import Manager
from sandbox.setup.node.substitutes import (
    Release,
    choose_version,
    leave_out_git,
    read_refused,
    replace_release,
)

OLD = Release("rou3", "0.6.0")
NEW = Release("rou3", "0.6.1", f"sha512-{'b' * 86}==")
GONE = f"sha512-{'a' * 86}=="
NPM = json.dumps(
    {
        "lockfileVersion": 3,
        "packages": {
            "": {"dependencies": {"rou3": "^0.6.0"}},
            "node_modules/rou3": {
                "version": "0.6.0",
                "resolved": "https://registry.example/rou3/-/rou3-0.6.0.tgz",
                "integrity": GONE,
            },
            "node_modules/@a/rou3": {"version": "0.6.0", "resolved": "x", "integrity": "x"},
        },
    }
)
PNPM = f"""importers:
  .:
    dependencies:
      rou3:
        specifier: ^0.6.0
        version: 0.6.0

packages:

  rou3@0.6.0:
    resolution: {{integrity: {GONE}}}

  '@a/rou3@0.6.0':
    resolution: {{integrity: sha512-other}}

snapshots:

  h3@2.0.0(rou3@0.6.0):
    dependencies:
      rou3: 0.6.0

  rou3@0.6.0: {{}}
"""
CLASSIC = f"""rou3@^0.6.0:
  version "0.6.0"
  resolved "https://registry.example/rou3/-/rou3-0.6.0.tgz#0123456789abcdef"
  integrity {GONE}
"""
BERRY = f""""rou3@npm:^0.6.0":
  version: 0.6.0
  resolution: "rou3@npm:0.6.0"
  checksum: 10c0/{"a" * 20}
  languageName: node
"""
BUN = f'    "rou3": ["rou3@0.6.0", "", {{ "peerDependencies": {{}} }}, "{GONE}"],\n'


@pytest.mark.parametrize(
    "output",
    [
        "npm error 404 Not Found - GET https://registry.example/rou3/-/rou3-0.6.0.tgz",
        "ERR_PNPM_FETCH_404  GET https://registry.example/rou3/-/rou3-0.6.0.tgz: Not Found - 404",
        'Error: https://registry.example/rou3/-/rou3-0.6.0.tgz: Request failed "404 Not Found"',
        '➤ YN0016: │ rou3@npm:0.6.0: Registry failed to return reference "0.6.0"',
        "error: GET https://registry.example/npm/rou3/-/rou3-0.6.0.tgz - 404",
    ],
)
def test_every_manager_names_the_package_that_it_cannot_fetch(output: str) -> None:
    assert read_refused(output) == (OLD,)


def test_a_package_of_a_scope_is_named_whole() -> None:
    output = "GET https://registry.example/@a/b-linux-x64/-/b-linux-x64-1.2.0-rc.1.tgz - 404"
    assert read_refused(output) == (Release("@a/b-linux-x64", "1.2.0-rc.1"),)


@pytest.mark.parametrize(
    ("version", "listed", "expected"),
    [
        ("0.6.0", ["0.5.1", "0.6.1", "0.6.3", "0.7.0", "1.0.0"], "0.6.1"),
        ("0.6.4", ["0.5.1", "0.6.1", "0.6.3", "0.7.0"], "0.6.3"),
        ("1.2.2", ["1.2.10", "1.3.0", "2.0.0"], "1.2.10"),
        ("1.2.2", ["1.3.0-beta.1", "2.0.0"], None),
        ("0.6.0", ["0.7.0"], None),
        ("0.0.3", ["0.0.4"], None),
        ("0.6.0", ["0.6.0", "0.6.1"], None),
        ("0.6.0", [None, 1], None),
    ],
)
def test_the_next_compatible_release_stands_in(
    version: str, listed: list[object], expected: str | None
) -> None:
    assert choose_version(version, listed) == expected


@pytest.mark.parametrize(
    ("manager", "text"),
    [("npm", NPM), ("pnpm", PNPM), ("yarn", CLASSIC), ("yarn", BERRY), ("bun", BUN)],
)
def test_only_the_missing_package_changes(manager: Manager, text: str) -> None:
    changed = replace_release(text, manager, OLD, NEW)
    assert "0.6.1" in changed
    assert GONE not in changed
    if text != BERRY:  # its digest is of an archive that Yarn writes
        assert NEW.integrity in changed
    rest = changed.replace("^0.6.0", "")
    assert rest.count("0.6.0") == (1 if manager in {"npm", "pnpm"} else 0)  # of `@a/rou3`


def test_development_packages_from_git_are_left_out() -> None:
    tooling = {"resolved": "git+ssh://git@host/a/tooling.git#1"}
    packages = {
        "": {"dependencies": {"core": "a/core"}, "devDependencies": {"tooling": "a/b", "ms": "2"}},
        "node_modules/tooling": tooling,
        "node_modules/tooling/node_modules/ms": {"resolved": "https://registry.example/ms.tgz"},
        "node_modules/tooling-more": {"resolved": "https://registry.example/m.tgz"},
        "node_modules/ms": {"resolved": "https://registry.example/ms.tgz"},
        "node_modules/core": tooling,
    }
    lock, package = json.dumps({"packages": packages}), json.dumps(packages[""])
    reduced = leave_out_git(lock, package)
    assert reduced is not None
    assert reduced.left_out == ("tooling",)
    assert json.loads(reduced.package)["devDependencies"] == {"ms": "2"}
    left = json.loads(reduced.lock)["packages"]
    assert set(left) == set(packages) - {
        "node_modules/tooling",
        "node_modules/tooling/node_modules/ms",
    }
    assert left[""]["devDependencies"] == {"ms": "2"}
    assert leave_out_git(reduced.lock, reduced.package) is None
    assert leave_out_git("no JSON", package) is None


def test_a_digest_that_is_none_changes_nothing() -> None:
    strange = NEW._replace(integrity='"\nevil: true')
    assert replace_release(PNPM, "pnpm", OLD, strange) == PNPM
    assert replace_release("no JSON", "npm", OLD, NEW) == "no JSON"
