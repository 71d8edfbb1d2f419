"""metaagent fix on a red working tree: what a person at a terminal gets, also when something is wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.demo.repositories import broken_repository
from tests.patience import COMMAND_S

SHOWN_AT_ONCE = {
    "outcome",
    "mission_id",
    "diff",
    "rung",
    "template",
    "confidence",
    "candidates_tried",
    "plausible",
}
FIELDS = SHOWN_AT_ONCE | {"seconds", "cost_usd", "report"}


def metaagent(*words: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command as its own process, with its data in a folder of the test."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("METAAGENT_")}
    environment |= {"METAAGENT_DATA_DIR": str(folder / "data"), **variables}
    command = [sys.executable, "-m", "bot", *words]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=COMMAND_S, check=False
    )


HEAVY = ("docker", "githubkit", "fastapi", "sqlalchemy", "dbos", "httpx", "bot.pipeline")
"""Modules that only work needs; they take a second to import."""


def imported_heavy(*words: str, folder: Path, also: tuple[str, ...] = ()) -> set[str]:
    """Run a command and return the heavy modules that it imported."""
    done = metaagent(*words, folder=folder, PYTHONPROFILEIMPORTTIME="1")
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    return imported & {*HEAVY, *also}


def fix(*words: str, folder: Path, **variables: str) -> tuple[int, dict[str, Any]]:
    """Run `metaagent fix --json`; its status and its one object."""
    done = metaagent("fix", *words, "--json", folder=folder, **variables)
    assert done.stdout.count("\n") == 1, done.stdout + done.stderr
    return done.returncode, json.loads(done.stdout)


@pytest.mark.docker
@pytest.mark.slow
def test_a_red_tree_is_fixed_and_the_diff_applies(tmp_path: Path, docker_ready: None) -> None:
    tree = broken_repository("broken_math").write(tmp_path / "tree")
    status, result = fix(str(tree), "--test", "python -m pytest -q", folder=tmp_path)
    assert (status, result["outcome"], result["rung"]) == (0, "FIXED", 1)
    assert result.keys() >= FIELDS
    assert result["cost_usd"] == 0
    assert "a - b" in (tree / "broken_math.py").read_text(), "without --apply nothing is written"
    subprocess.run(["git", "init", "--quiet", "."], cwd=tree, check=True)
    subprocess.run(["git", "apply", "-"], cwd=tree, input=result["diff"], text=True, check=True)
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly"],
        cwd=tree,
        capture_output=True,
        check=False,
    )
    assert tests.returncode == 0, tests.stdout


@pytest.mark.docker
@pytest.mark.slow
def test_apply_writes_the_verified_fix_and_nothing_else(tmp_path: Path, docker_ready: None) -> None:
    tree = broken_repository("untidy").write(tmp_path / "tree")
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    done = metaagent("fix", str(tree), "--test", "ruff check .", "--apply", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    changed = {
        path.name
        for path in tree.rglob("*")
        if path.is_file() and before.get(path) != path.read_bytes()
    }
    assert changed == {"words.py"}
    assert "The fix is applied" in done.stdout


@pytest.mark.docker
@pytest.mark.slow
def test_the_same_seed_finds_the_same_fix(tmp_path: Path, docker_ready: None) -> None:
    tree = broken_repository("broken_math").write(tmp_path / "tree")
    first, second = (
        fix(str(tree), "--seed", "7", folder=tmp_path / name)[1] for name in ("one", "two")
    )
    assert first["diff"] == second["diff"] != ""


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "command", "outcome"),
    [
        (
            {"test_odd.py": "def test_odd():\n    assert 'a' == 'b'\n"},
            "python -m pytest -q",
            "NO_FIX",
        ),
        ({"test_odd.py": "import no_such_library\n"}, "python -m pytest -q", "ENV_UNBUILDABLE"),
    ],
    ids=["beyond repair", "a library that is not declared"],
)
def test_every_other_end_is_status_1_and_says_why(
    tmp_path: Path, docker_ready: None, files: dict[str, str], command: str | None, outcome: str
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for name, content in files.items():
        (tree / name).write_text(content)
    words = [str(tree), *(["--test", command] if command else []), "--time-limit", "20"]
    status, result = fix(*words, folder=tmp_path)
    assert (status, result["outcome"]) == (1, outcome), result
    assert result["reason"]
    assert result["diff"] == ""


ADULT = "def is_adult(age):\n    return age >= 18\n"
ONE_TEST = "from ages import is_adult\n\n\ndef test_eighteen():\n    assert is_adult(18)\n"


def commit(tree: Path) -> None:
    """Commit the whole folder."""
    person = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "as it is"]):
        subprocess.run(["git", *person, *words], cwd=tree, check=True)


@pytest.mark.docker
@pytest.mark.slow
def test_an_unrelated_uncommitted_line_does_not_turn_a_fix_into_a_question(
    tmp_path: Path, docker_ready: None
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "ages.py").write_text(ADULT)
    (tree / "test_ages.py").write_text(ONE_TEST)
    (tree / "other.py").write_text("X = 1\n")
    commit(tree)
    (tree / "ages.py").write_text(ADULT.replace(">=", ">"))
    commit(tree)
    (tree / "other.py").write_text("X = 1\nY = 2\n")
    status, result = fix(str(tree), "--test", "python -m pytest -q", folder=tmp_path)
    assert (status, result["outcome"]) == (0, "FIXED"), result["report"]
    lines = {line for line in result["diff"].splitlines() if line.startswith("+    ")}
    assert lines & {"+    return age >= 18", "+    return age > 17"}, "for whole years they agree"


TOTAL = "def total(items):\n    return sum(items)\n"
SEVEN = "def test_seven():\n    assert total([1, 2, 3]) == 7\n"
RIGHT = "".join(
    f"def test_{n}():\n    assert total([{n}, {n}]) == {2 * n}\n\n\n" for n in range(1, 5)
)


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize("face", ["fix", "repair"])
@pytest.mark.parametrize(
    ("tests", "wanted"),
    [
        (
            f"from basket import total\n\n\n{RIGHT}{SEVEN}",
            "`test_basket.py::test_seven` disagrees with code that 4 other tests confirm",
        ),
        (
            f"from basket import refund, total\n\n\n{RIGHT}",
            "`basket` has no `refund`, which the tests use: that is a feature to write",
        ),
    ],
    ids=["a wrong test", "a feature"],
)
def test_without_a_fix_a_person_is_told_what_to_look_at(
    tmp_path: Path, docker_ready: None, face: str, tests: str, wanted: str
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "basket.py").write_text(TOTAL)
    (tree / "test_basket.py").write_text(tests)
    command = [face, str(tree), "--test", "python -m pytest -q", "--time-limit", "15"]
    done = metaagent(*command, folder=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    (advice,) = [line for line in done.stdout.splitlines() if line.startswith("  next: ")]
    assert wanted in advice


@pytest.mark.docker
@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("no-such-tool --all", "the program `no-such-tool` cannot be found"),
        ("cd . && pythonn -m pytest", "the program `pythonn` cannot be found"),
        ("python -m pytest -q", "nothing is red: `python -m pytest -q` passes here"),
        (None, "nothing is red: "),
        ("python -m pytest -q test_two.py", "file or directory not found: test_two.py"),
        ("python -m pytest -q -k nothing", "collects no test"),
        ("python -m unittest", "collects no test"),
    ],
)
@pytest.mark.parametrize("face", ["fix", "repair"])
def test_a_command_that_shows_nothing_to_repair_is_wrong_use(
    tmp_path: Path, docker_ready: None, face: str, command: str | None, wanted: str
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "test_calc.py").write_text("def test_one():\n    assert 1 + 1 == 2\n")
    done = metaagent(face, str(tree), *(["--test", command] if command else []), folder=tmp_path)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stdout == ""
    heading, advice = done.stderr.splitlines()[-2:]
    assert heading.startswith("metaagent: ")
    assert wanted in heading
    assert advice.startswith("  ")
    listed = metaagent("missions", folder=tmp_path).stdout
    assert listed in {"", "no missions\n"}, "there may be no database yet"


@pytest.mark.parametrize("face", ["fix", "repair"])
@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--test", "python -m pytest 'tests"], "no closing quotation"),
        (["--test", "make", "--since", "v1"], "is not in a git checkout"),
        (["--test", "make", "--sandbox-max-files", "1"], "--sandbox-max-files"),
        ([], "nothing to run"),
        (["--time-limit", "-3"], "--time-limit must be more than 0 seconds"),
    ],
)
def test_wrong_use_that_needs_no_sandbox_is_told_without_one(
    tmp_path: Path, face: str, words: list[str], wanted: str
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for name in ("a.py", "b.py"):
        (tree / name).write_text("x = 1\n")
    done = metaagent(
        face, str(tree), *words, folder=tmp_path, DOCKER_HOST=f"unix://{tmp_path}/absent.sock"
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert wanted in done.stderr
    assert done.stderr.startswith("metaagent: "), "no stage is begun"
    assert imported_heavy(face, str(tree), *words, folder=tmp_path) == set()


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["/no/such/folder"], "is not a folder"),
        ([".", "--rungs", "5"], "--rungs"),
        ([".", "--rungs", "one"], "--rungs"),
        ([".", "--time-limit", "-3"], "--time-limit"),
        ([".", "--test", "  "], "--test"),
        ([".", "--sandbox-backend", "cloud"], "sandbox.backend"),
        ([".", "--config", "/no/such/file.toml"], "cannot be read"),
        ([".", "--evidence", "/no/such/folder/fix.zip"], "--evidence"),
        ([".", "--test", "make", "--choose", "1"], "no choices are kept"),
    ],
)
def test_wrong_use_is_status_2_and_says_what_to_do(
    tmp_path: Path, words: list[str], wanted: str
) -> None:
    status, result = fix(*words, folder=tmp_path)
    assert status == 2
    assert result["outcome"] == "ERROR"
    assert wanted in result["message"]
    assert imported_heavy("fix", *words, folder=tmp_path) == set()


def test_an_unknown_option_and_an_empty_folder_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for words in ([".", "--no-such-option"], [str(tmp_path / "empty")]):
        assert imported_heavy("fix", *words, folder=tmp_path) == set()


def test_without_docker_the_operator_is_told(tmp_path: Path) -> None:
    tree = broken_repository("broken_math").write(tmp_path / "tree")
    status, result = fix(str(tree), folder=tmp_path, DOCKER_HOST=f"unix://{tmp_path}/absent.sock")
    assert status == 2
    assert result["outcome"] == "ERROR"
    assert "Docker" in result.get("message", result.get("reason", ""))


def test_the_local_backend_refuses_to_run_as_root(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be refused")
    tree = broken_repository("broken_math").write(tmp_path / "tree")
    status, result = fix(str(tree), "--sandbox-backend", "local", folder=tmp_path)
    assert status == 2
    assert "root" in result.get("message", result.get("reason", ""))


def test_docker_that_does_not_answer_is_told_once_with_the_next_step(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("x = 1\n")
    (tmp_path / "test_m.py").write_text("from m import x\ndef test_x(): assert x == 2\n")
    words = ("fix", str(tmp_path), "--test", "python -m pytest -q")
    done = metaagent(*words, folder=tmp_path, DOCKER_HOST=f"unix://{tmp_path}/absent.sock")
    assert done.returncode == 2
    assert not [
        line for line in (done.stdout + done.stderr).splitlines() if line.startswith("{")
    ], "a raw log line"
    assert "Docker does not respond" in done.stdout + done.stderr
    assert "run the same command again" in " ".join((done.stdout + done.stderr).split())


def test_doctor_looks_at_what_one_way_in_needs(tmp_path: Path) -> None:
    absent = {"DOCKER_HOST": f"unix://{tmp_path}/absent.sock"}
    looked = {}
    for face in ("terminal", "action", "service"):
        done = metaagent("doctor", "--for", face, "--json", folder=tmp_path, **absent)
        looked[face] = {finding["subject"] for finding in json.loads(done.stdout)}
        assert "sandbox docker" in looked[face]
        assert done.returncode == 1, "without Docker none of them works"
    assert looked["service"] - looked["terminal"] == {"webhook secret", "GitHub App"}
    assert looked["action"] - looked["terminal"] == {"Python venv"}


def test_doctor_names_what_is_missing(tmp_path: Path) -> None:
    done = metaagent(
        "doctor", "--json", folder=tmp_path, DOCKER_HOST=f"unix://{tmp_path}/absent.sock"
    )
    findings = {finding["subject"]: finding for finding in json.loads(done.stdout)}
    assert done.returncode == 1
    assert findings["webhook secret"]["state"] == "missing"
    assert findings["sandbox docker"]["state"] == "missing"
    assert all(finding["advice"] for finding in findings.values() if finding["state"] == "missing")


def test_serve_refuses_to_start_without_a_secret(tmp_path: Path) -> None:
    done = metaagent("serve", "--app-id", "1", "--private-key", "x", folder=tmp_path)
    assert done.returncode == 2
    assert "METAAGENT_WEBHOOK_SECRET" in done.stderr


def test_help_is_there_at_once(tmp_path: Path) -> None:
    heavy = imported_heavy("--help", folder=tmp_path, also=("pydantic",))
    assert heavy == set()
