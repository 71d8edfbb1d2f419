"""What the installer says is understood: what has no wheel, and what it chose."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.guest import fetch_sdists
from sandbox.guest.fetch_sdists import (
    find_roots,
    names_without_wheel,
    parse_lock,
    parse_parents,
)


@pytest.mark.parametrize(
    ("said", "names"),
    [
        (
            (
                "cause: Because all versions of docopt have no usable wheels and you require docopt, we can conclude\n"
                "hint: Wheels are required for `docopt` because building from source is disabled for all packages"
            ),
            {"docopt"},
        ),
        ("Because Docopt==0.5.0 has no usable wheels and you require docopt==0.5", {"docopt"}),
        (
            "Because zope.interface>=5,<6 has no\n  wheels with a matching Python ABI tag (e.g., `cp311`)",
            {"zope-interface"},
        ),
        (
            "Because rsloop{platform_python_implementation == 'CPython'}>=0.1.30 has no usable wheels",
            {"rsloop"},
        ),
        ("Because rsloop 0.1.30 and rsloop >= 0.1.31 have no usable wheels", set()),
        ("Because x was not found in the package registry", set()),
        ("", set()),
    ],
)
def test_names_without_a_wheel_are_found(said: str, names: set[str]) -> None:
    assert names_without_wheel(said) == names


def test_what_was_chosen_is_told_with_its_stand_in() -> None:
    lock = """lock-version = "1.0"

[[packages]]
name = "docopt"
version = "0.6.2"
wheels = [{ url = "file:///work/setup/stand-ins/docopt-0.6.2-0-py3-none-any.whl", hashes = {} }]

[[packages]]
name = "pluggy"
version = "1.5"
wheels = [{ url = "https://files.example/pluggy-1.5-py3-none-any.whl" }]
"""
    assert parse_lock(lock) == {
        "docopt==0.6.2": "docopt-0.6.2-0-py3-none-any.whl",
        "pluggy==1.5": "",
    }


def test_a_package_that_brings_a_program_of_the_installers_name_is_not_asked(
    tmp_path: Path,
) -> None:
    for place in ("system", "env/bin"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "uv").write_text("#!/bin/sh\necho $0\n")
        (tmp_path / place / "uv").chmod(0o755)
    library = Path(fetch_sdists.__file__).parents[2]
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from sandbox.guest import fetch_sdists as f"
    )
    script += "; print(f.uv('x', PATH=sys.argv[2]).stdout)"
    inside = str(tmp_path / "env/bin")
    env = {
        "VIRTUAL_ENV": str(tmp_path / "env"),
        "PATH": os.pathsep.join((inside, str(tmp_path / "system"))),
    }
    argv = [sys.executable, "-I", "-S", "-c", script, str(library), inside]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(tmp_path / "system/uv")


def test_the_requested_packages_that_need_one_are_found() -> None:
    annotated = """good==1.0                 # via -r /work/setup/requirements.txt
leaf==1.0                 # via mid, top
mid==1.0                  # via top, -r /work/setup/requirements.txt, -c /work/setup/constraints.txt
Zope.Top==1.0             # via -r /work/setup/requirements.txt
top==1.0                  # via zope-top
circle==1.0               # via circle, leaf
"""
    parents = parse_parents(annotated)
    assert find_roots("leaf", parents) == ["mid", "zope-top"]
    assert find_roots("mid", parents) == ["mid", "zope-top"]
    assert find_roots("good", parents) == ["good"]
    assert find_roots("circle", parents) == ["mid", "zope-top"]
    assert find_roots("unknown", parents) == []
