"""What a source distribution says of itself is read without running it."""

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from sandbox.guest.source_metadata import USUAL_BUILD, _parse_table, describe

INFO = "Metadata-Version: 2.1\nName: x\nVersion: 1\n"
BUILD = '[build-system]\nrequires = ["flit_core >=3.2,<4"]\nbuild-backend = "flit_core.buildapi"\n'


def sdist(folder: Path, files: dict[str, str], name: str = "x-1.tar.gz") -> str:
    path = folder / name
    if name.endswith(".zip"):
        with zipfile.ZipFile(path, "w") as archive:
            for file, text in files.items():
                archive.writestr(f"x-1/{file}", text)
        return str(path)
    with tarfile.open(path, "w:gz") as tar:
        for file, text in files.items():
            entry = tarfile.TarInfo(f"x-1/{file}")
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return str(path)


@pytest.mark.parametrize("name", ["x-1.tar.gz", "x-1.zip"])
def test_requirements_and_tools_are_read(tmp_path: Path, name: str) -> None:
    info = INFO + 'Provides-Extra: fast\nRequires-Dist: a>=1\nRequires-Dist: b;\n extra == "fast"\n'
    found = describe(sdist(tmp_path, {"PKG-INFO": info, "pyproject.toml": BUILD}, name))
    assert found.requires == ["a>=1", 'b; extra == "fast"']
    assert found.extras == ["fast"]
    assert found.build == ["flit_core >=3.2,<4"]


def test_an_old_one_is_read_from_what_setuptools_left(tmp_path: Path) -> None:
    listed = 'a>=1\n\n[:python_version < "3"]\nold\n\n[fast]\nb\n\n[fast:os_name == "nt"]\nc\n'
    found = describe(sdist(tmp_path, {"PKG-INFO": INFO, "x.egg-info/requires.txt": listed}))
    assert found.requires == [
        "a>=1",
        'old; (python_version < "3")',
        'b; extra == "fast"',
        'c; (os_name == "nt") and extra == "fast"',
    ]
    assert found.extras == ["fast"]
    assert found.build == list(USUAL_BUILD)


def test_setuptools_gets_what_its_older_versions_ask_for_while_building(tmp_path: Path) -> None:
    found = describe(
        sdist(tmp_path, {"pyproject.toml": '[build-system]\nrequires = ["setuptools<60"]\n'})
    )
    assert found.build == ["setuptools<60", "wheel"]


@pytest.mark.parametrize(
    ("text", "requires"),
    [
        ("", list(USUAL_BUILD)),
        ("[tool.x]\n", list(USUAL_BUILD)),
        ("[build-system", list(USUAL_BUILD)),
        ("[build-system]\nrequires = []\n", []),
    ],
)
def test_what_names_no_tools_gets_the_usual_ones(
    tmp_path: Path, text: str, requires: list[str]
) -> None:
    assert describe(sdist(tmp_path, {"pyproject.toml": text})).build == requires


@pytest.mark.parametrize(
    "odd",
    [
        "--no-binary=:all:",
        "-e.",
        "a @ https://elsewhere.example/a.zip",
        "./a",
        "/var/tmp/a",
        "a; x\\n-r b",
        "a#egg",
        "",
    ],
)
def test_tools_that_are_more_than_names_are_refused(tmp_path: Path, odd: str) -> None:
    text = f'[build-system]\nrequires = ["setuptools", "{odd}"]\n'
    if odd.startswith("a; x"):  # one line to the installer, whatever it holds
        assert "\n" not in "".join(describe(sdist(tmp_path, {"pyproject.toml": text})).build)
        return
    with pytest.raises(ValueError, match="no name with versions"):
        describe(sdist(tmp_path, {"pyproject.toml": text}))


@pytest.mark.parametrize(
    "line", ["a", "a[b,c] >=1.0, !=1.3.*; python_version < '3.9'", "A_b.c (~=1!2)", "a===1+local"]
)
def test_tools_of_any_plain_form_are_taken(tmp_path: Path, line: str) -> None:
    assert describe(
        sdist(tmp_path, {"pyproject.toml": f'[build-system]\nrequires = ["{line}"]\n'})
    ).build == [line]


def test_tools_are_also_found_where_python_reads_no_toml() -> None:
    text = '[project]\nrequires = ["no"]\n\n[build-system]\nrequires = [\n  "a>=1",  # why\n  \'b\',\n]\nx = 1\n[tool]\n'
    assert _parse_table(text) == {"requires": ["a>=1", "b"]}
    assert _parse_table("[project]\n") is None


def test_what_is_no_archive_is_said(tmp_path: Path) -> None:
    (tmp_path / "x.tar.gz").write_bytes(b"no")
    (tmp_path / "x.zip").write_bytes(b"no")
    for name in ("x.tar.gz", "x.zip"):
        with pytest.raises(ValueError, match="archive"):
            describe(str(tmp_path / name))
