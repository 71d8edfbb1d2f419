"""Only names with versions are installed."""

import time

import pytest

from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import CheckoutFiles
from sandbox.recipe.requirements import (
    clean_line,
    clean_lines,
    distribution_name,
    is_named_for_tests,
    read_requirement_file,
)

ACCEPTED = {
    "pytest": "pytest",
    "pytest==8.0": "pytest==8.0",
    "  numpy >= 1.2 , < 2 ": "numpy>=1.2,<2",
    "a.b_c-d [x, y_z]~=1.0": "a.b_c-d[x,y_z]~=1.0",
    "foo (>=1.0)": "foo>=1.0",
    "foo ; python_version < '3.9' and os_name == \"nt\"": "foo ; python_version < '3.9' and os_name == \"nt\"",
    "foo==1.*": "foo==1.*",
    f"foo==1 --hash=sha256:{'a' * 64} --hash=sha256:{'b' * 64}": f"foo==1 --hash=sha256:{'a' * 64} --hash=sha256:{'b' * 64}",
}
REFUSED = (
    "-e git+https://example.org/x#egg=x",
    "--index-url https://example.org/simple",
    "-i https://example.org",
    "--extra-index-url=https://example.org",
    "--find-links ./wheels",
    "--trusted-host example.org",
    "https://example.org/x.whl",
    "git+https://example.org/x",
    "x @ https://example.org/x.whl",
    "x @ file:///etc/passwd",
    "../other",
    "./pkg",
    "/abs/pkg",
    "pkg.whl; touch /tmp/x",
    "foo==1 --config-settings=x=y",
    "foo==1 --global-option=x",
    "foo\n--index-url x",
    "foo; python_version > '3'\n--no-binary foo",
    "foo;\n-e .",
    "foo; python_version > '3' -r bar",
    "foo $(touch x)",
    "foo `id`",
    "",
    "foo==1 --hash=md5:aa",
    "x" * 1000,
)


@pytest.mark.parametrize("line", ACCEPTED)
def test_a_plain_line_is_kept_in_plain_form(line: str) -> None:
    assert clean_line(line) == ACCEPTED[line]


@pytest.mark.parametrize("line", REFUSED)
def test_anything_else_is_refused(line: str) -> None:
    assert clean_line(line) is None


def test_a_long_hostile_line_is_refused_at_once() -> None:
    started = time.process_time()
    for line in (
        "a" + "." * 100_000,
        "a" + " " * 100_000 + "!",
        "a;" + " a" * 50_000 + "$",
        "a" + "-a" * 290 + "!",
    ):
        assert clean_line(line) is None
    assert time.process_time() - started < 10


def test_refused_lines_are_noted_and_the_rest_stays() -> None:
    log = FidelityLog()
    wanted = clean_lines(["pytest", "--index-url http://evil", "attrs"], "requirements.txt", log)
    assert wanted.lines == ("pytest", "attrs")
    assert [(entry.treatment, entry.step) for entry in log.entries()] == [
        ("dropped", "requirements.txt: --index-url http://evil")
    ]


@pytest.mark.parametrize(
    "line", [".", "-e .", "-e.[test]", "./", ".[test]", '".[test]"', "--editable ."]
)
def test_the_checkout_itself_is_told_apart(line: str) -> None:
    wanted = clean_lines([line], "x", FidelityLog())
    assert wanted.itself
    assert wanted.extras == (("test",) if "test" in line else ())


def test_files_refer_to_files_and_never_leave_the_repository() -> None:
    contents = {
        "requirements/dev.txt": b"-r base.txt\npytest # tests\n-r ../../../etc/passwd\n",
        "requirements/base.txt": b"attrs\\\n>=1\n",
    }
    log = FidelityLog()
    wanted = read_requirement_file("requirements/dev.txt", CheckoutFiles(contents, None, log))
    assert wanted.lines == ("attrs >=1".replace(" ", ""), "pytest")
    assert wanted.files == ("requirements/dev.txt", "requirements/base.txt")
    assert any("cannot be read" in entry.reason for entry in log.entries())


def test_files_that_refer_to_each_other_end() -> None:
    contents = {"a.txt": b"-r b.txt\nx\n", "b.txt": b"-r a.txt\ny\n"}
    assert set(
        read_requirement_file("a.txt", CheckoutFiles(contents, None, FidelityLog())).lines
    ) == {"x", "y"}


def test_files_that_include_each_other_many_times_are_read_once() -> None:
    contents = {"a.txt": b"-r b.txt\n" * 50 + b"x\n", "b.txt": b"-r a.txt\n" * 50 + b"y\n"}
    assert set(
        read_requirement_file("a.txt", CheckoutFiles(contents, None, FidelityLog())).lines
    ) == {"x", "y"}


def test_constraints_in_a_circle_end() -> None:
    contents = {
        "a.txt": b"-c b.txt\nx\n",
        "b.txt": b"-c a.txt\n-r c.txt\ny==1\n",
        "c.txt": b"z==2\n",
    }
    wanted = read_requirement_file("a.txt", CheckoutFiles(contents, None, FidelityLog()))
    assert wanted.lines == ("x",)
    assert set(wanted.constraints) == {"x", "y==1", "z==2"}


def test_names_are_compared_as_indexes_do() -> None:
    assert distribution_name("Foo_Bar.Baz[x]>=1") == "foo-bar-baz"


def test_a_long_name_of_an_extra_is_read_in_linear_time() -> None:
    assert is_named_for_tests("lint-dev")
    # Quadratic work would take minutes.
    assert not is_named_for_tests("a" + "-dev" * 100_000 + "/")


def test_the_account_is_bounded_and_printable() -> None:
    log = FidelityLog()
    for number in range(100):
        log.dropped(f"{number}\x1b[2J\n{'x' * 1000}", "why")
    assert len(log.entries()) == 60
    assert all(entry.step.isprintable() and len(entry.step) <= 200 for entry in log.entries())


LOCAL = {
    "-e .": (".", ()),
    "-e ./libs/core": ("libs/core", ()),
    "-e ../core[a, b]": ("core", ("a", "b")),
    "--editable=libs/core": ("libs/core", ()),
    "./libs/core": ("libs/core", ()),
    "file:./libs/core": ("libs/core", ()),
    ".[test]": (".", ("test",)),
}


@pytest.mark.parametrize("line", LOCAL)
def test_projects_of_the_checkout_are_named_by_their_folder(line: str) -> None:
    folder = "app" if ".." in line else "."
    (local,) = clean_lines([line], "x", FidelityLog(), folder).local
    assert (local.folder, local.extras) == LOCAL[line]


@pytest.mark.parametrize(
    "line", ["-e /etc", "../../outside", "-e ~/x", "./a.whl", "-e $HOME/x", "-e ."[:2]]
)
def test_other_folders_and_files_are_not_taken(line: str) -> None:
    assert clean_lines([line], "x", FidelityLog(), ".").local == ()


def test_bounds_of_a_file_install_nothing_and_options_are_the_operators() -> None:
    log = FidelityLog()
    files = {
        "r.txt": b"six\n-c c.txt\n-i https://example.org\nx @ git+https://example.org/x\n",
        "c.txt": b"attrs[x]<24\n",
    }
    wanted = read_requirement_file("r.txt", CheckoutFiles(files, None, log))
    assert (wanted.lines, wanted.constraints) == (("six",), ("attrs<24",))
    assert len(wanted.missing) == 1
    assert any("operator" in entry.reason for entry in log.entries())
