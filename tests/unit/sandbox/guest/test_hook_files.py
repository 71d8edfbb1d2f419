"""The files of a hook are those that pre-commit would choose, and a hostile pattern has a limit."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from sandbox.guest.hook_files import WRONG_USE, main
from tests.fakes.file_kinds import read_kinds

LIMIT_S = 1

FILES = {
    "a.py": "x = 1\n",
    "sub/b.pyi": "x: int\n",
    "sub/c d.md": "# c\n",
    "run": "#!/usr/bin/env bash\n",
    "data.bin": "\0",
    "new.txt": "not added yet\n",
    "ignored.txt": "",
    ".gitignore": "ignored.txt\n",
}
SHOW = "import sys; print(*sys.argv[1:], sep='|')"
FAIL_FOR_B = "import sys; sys.exit(3 if sys.argv[1].startswith('b') else 0)"


def run(words: list[str]) -> int:
    return main(words, read_kinds, LIMIT_S)


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "run").chmod(0o755)
    (tmp_path / "link").symlink_to("a.py")
    subprocess.run(("git", "init", "-q"), cwd=tmp_path, check=True)
    known = [*(name for name in FILES if name not in {"new.txt", "ignored.txt"}), "link"]
    subprocess.run(("git", "add", *known), cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ([], [".gitignore", "a.py", "data.bin", "new.txt", "run", "sub/b.pyi", "sub/c d.md"]),
        (["--types=python"], ["a.py"]),
        (["--types-or=python,pyi"], ["a.py", "sub/b.pyi"]),
        (["--types=text", "--exclude-types=python,pyi", "--exclude=^[.n]"], ["run", "sub/c d.md"]),
        (["--types=shell"], ["run"]),
        (["--types=symlink"], ["link"]),
        (["--files=^sub/", "--files=md$"], ["sub/c d.md"]),
        (["--files=(?x)^(%0A%20a|run%0A)", "--exclude=run"], ["a.py"]),
    ],
)
@pytest.mark.usefixtures("checkout")
def test_patterns_and_kinds_choose_the_files(
    options: list[str], chosen: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run([*options, "--", sys.executable, "-c", SHOW, "--flag"]) == 0
    assert capfd.readouterr().out.strip() == "|".join(["--flag", *chosen])


@pytest.mark.usefixtures("checkout")
def test_without_files_the_hook_is_skipped_and_its_own_arguments_may_be_all() -> None:
    failing = (sys.executable, "-c", "import sys; sys.exit(len(sys.argv) + 3)")
    assert run(["--types=toml", "--", *failing]) == 0
    assert run(["--types=python", "--no-names", "--", *failing]) == 4
    assert run(["--types=python", "--", *failing]) == 5
    assert run(["--", "no-such-program"]) == 127


def test_many_names_are_split_and_the_worst_status_counts(
    checkout: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for letter in "bc":
        for number in range(700):
            (checkout / f"{letter}{number:0>100}.toml").write_text("")
    assert run(["--types=toml", "--", sys.executable, "-c", FAIL_FOR_B]) == 3
    assert run(["--types=toml", "--", sys.executable, "-c", SHOW]) == 0
    assert len(capfd.readouterr().out.splitlines()) == 2


def test_a_hostile_pattern_ends_by_its_limit(
    checkout: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (checkout / ("a" * 60)).write_text("")
    started = time.monotonic()
    assert run(["--files=^(a|a)*$b", "--", "true"]) == WRONG_USE
    assert time.monotonic() - started < 15
    assert "take too long" in capfd.readouterr().err
    assert run(["--files=(", "--", "true"]) == WRONG_USE
