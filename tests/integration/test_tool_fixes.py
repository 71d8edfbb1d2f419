"""Rung 0 with real tools, on small files written for it: from the failing command to a green one."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typing_extensions import override

from bot.domain.diagnosis import FailureKind
from bot.domain.patch import Candidate, FixBudget, RungNote
from bot.fixers.rung0_tools import tool_fixers
from bot.fixers.rung0_tools.fixer import ToolFixer
from bot.fixers.rung0_tools.tool import Tool
from sandbox.runners.base import GuestPlaces, RunRequest
from sandbox.runners.diagnostics import Diagnostics
from sandbox.types import CommandResult, StepKind, TestReport, TestResult
from tests.builders import a_diagnosis, a_lint_recipe, a_lint_report, a_running_mission, facts
from tests.fakes.fake_workspace import FakeWorkspace

pytestmark = pytest.mark.anyio
UNUSED = "import os\n\n\ndef double(x: int) -> int:\n    return 2 * x\n"
UGLY = "def double( x ):\n  return 2*x\n"


class HostWorkspace(FakeWorkspace):
    """Files on this host; commands run there with this machine's tools. Never for foreign code."""

    def __init__(self, folder: Path, files: dict[str, str], command: str, kind: StepKind) -> None:
        super().__init__(files, facts=facts(recipe=a_lint_recipe(command, kind)))
        self.command = command
        self._folder = folder
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(content)

    @override
    async def run(self, command: str, *, timeout_s: float | None = None) -> CommandResult:
        await super().run(command)
        for path, content in self._tree.items():
            (self._folder / path).write_bytes(content)
        done = subprocess.run(  # noqa: ASYNC221, S602 - a test's own command on a test's own files
            command,
            shell=True,
            cwd=self._folder,
            env={
                "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
                "HOME": os.environ.get("HOME", "/"),
                "NO_COLOR": "1",
                "RUFF_NO_CACHE": "true",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        self._tree = {
            str(path.relative_to(self._folder)): path.read_bytes()
            for path in self._folder.rglob("*")
            if path.is_file() and "target" not in path.parts
        }
        return CommandResult(
            argv=("/bin/sh", "-c", command),
            exit_code=done.returncode,
            stdout=done.stdout,
            stderr=done.stderr,
        )

    async def red(self) -> TestReport:
        """The failing command, read as a mission reads it."""
        result = await self.run(self.command)
        await self.revert()
        places = GuestPlaces(
            python="python", guest_dir="/", checkout=str(self._folder), cwd=str(self._folder)
        )
        request, reader = RunRequest(command=self.command), Diagnostics()
        found: tuple[TestResult, ...] = reader.read(
            request, reader.prepare(request, places), result
        ).results
        return a_lint_report(*found, target=self.command)


async def repaired(
    workspace: HostWorkspace, fixer: ToolFixer | None = None
) -> Candidate | RungNote:
    report = await workspace.red()
    context = a_running_mission(test_results=report)
    diagnosis = a_diagnosis(kind=FailureKind.LINT, failures=report.failures)
    (proposal,) = [
        one
        async for one in (fixer or tool_fixers()[0]).propose(
            context, diagnosis, workspace, FixBudget()
        )
    ]
    assert await workspace.changes() == ()
    return proposal


@pytest.mark.parametrize(
    ("command", "kind", "source", "expected"),
    [
        ("ruff check .", StepKind.LINT, UNUSED, UNUSED.removeprefix("import os\n\n\n")),
        ("python -m ruff check .", StepKind.LINT, UNUSED, UNUSED.removeprefix("import os\n\n\n")),
        ("ruff format --check .", StepKind.FORMAT, UGLY, "def double(x):\n    return 2 * x\n"),
    ],
)
async def test_a_failing_step_is_green_after_the_candidate(
    tmp_path: Path, command: str, kind: StepKind, source: str, expected: str
) -> None:
    workspace = HostWorkspace(
        tmp_path, {"src/double.py": source, "src/fine.py": "X = 1\n"}, command, kind
    )
    candidate = await repaired(workspace)
    assert isinstance(candidate, Candidate)
    assert [(change.path, change.content) for change in candidate.changes] == [
        ("src/double.py", expected)
    ]
    assert candidate.explanation.startswith("ruff 0.")
    await workspace.apply_changes(candidate.changes)
    assert (await workspace.run(command)).ok


async def test_an_unsafe_fix_is_not_applied_even_where_the_repository_asks_for_it(
    tmp_path: Path,
) -> None:
    source = "def same(a):\n    return a == None\n"
    files = {"a.py": source, "ruff.toml": 'unsafe-fixes = true\n[lint]\nselect = ["E711"]\n'}
    note = await repaired(HostWorkspace(tmp_path, files, "ruff check .", StepKind.LINT))
    assert isinstance(note, RungNote)
    assert "changed nothing" in note.reason


async def test_files_the_linter_did_not_name_keep_their_looks(tmp_path: Path) -> None:
    files = {"bad.py": UNUSED, "ugly.py": UGLY}
    candidate = await repaired(HostWorkspace(tmp_path, files, "ruff check .", StepKind.LINT))
    assert isinstance(candidate, Candidate)
    assert [change.path for change in candidate.changes] == ["bad.py"]


async def test_a_file_whose_looks_were_wrong_keeps_them(tmp_path: Path) -> None:
    files = {"a.py": f"import os\n{UGLY}"}
    candidate = await repaired(HostWorkspace(tmp_path, files, "ruff check .", StepKind.LINT))
    assert isinstance(candidate, Candidate)
    assert candidate.changes[0].content == UGLY


async def test_a_test_file_is_formatted_too(tmp_path: Path) -> None:
    workspace = HostWorkspace(
        tmp_path, {"tests/test_a.py": UGLY}, "ruff format --check .", StepKind.FORMAT
    )
    candidate = await repaired(workspace)
    assert isinstance(candidate, Candidate)


_USES = "\n\n\ndef test_a():\n    assert b()\n"
IMPORTS = {
    "unsorted": ("I001", f"from c import b\nimport a{_USES}", f"import a\nfrom c import b{_USES}"),
    "unused": ("F401", f"import os\n\nfrom c import b{_USES}", f"from c import b{_USES}"),
    "both": (
        "I001,F401",
        f"from c import b\nimport a\nimport pytest\nprint(a){_USES}",
        f"import a\nfrom c import b\n\nprint(a){_USES}",
    ),
}


@pytest.mark.parametrize("name", IMPORTS)
async def test_imports_of_a_test_file_are_repaired(tmp_path: Path, name: str) -> None:
    rules, source, expected = IMPORTS[name]
    command = f"ruff check --select={rules} ."
    workspace = HostWorkspace(tmp_path, {"tests/test_a.py": source}, command, StepKind.LINT)
    candidate = await repaired(workspace)
    assert isinstance(candidate, Candidate)
    assert [(c.path, c.content) for c in candidate.changes] == [("tests/test_a.py", expected)]


async def test_an_unused_import_that_may_be_a_fixture_stays(tmp_path: Path) -> None:
    source = f"from c import b\nfrom tests.data import user{_USES}"
    files = {"tests/test_a.py": source, "src/a.py": UNUSED}
    workspace = HostWorkspace(tmp_path, files, "ruff check --select=F401 .", StepKind.LINT)
    candidate = await repaired(workspace)
    assert isinstance(candidate, Candidate)
    assert [change.path for change in candidate.changes] == ["src/a.py"]


async def test_a_broken_file_is_no_business_of_a_formatter(tmp_path: Path) -> None:
    workspace = HostWorkspace(
        tmp_path, {"a.py": "def (:\n"}, "ruff format --check .", StepKind.FORMAT
    )
    assert isinstance(await repaired(workspace), RungNote)


async def test_edits_of_a_whole_project_stay_in_the_named_file(tmp_path: Path) -> None:
    """Ruff stands for cargo and go here: it is on every machine, and it formats the whole folder."""
    tool = Tool(
        name="a project's formatter",
        runs="ruff check",
        suffixes=(".py",),
        fix="format --no-cache",
        whole_project=True,
        drops="--select",
    )
    files = {"bad.py": f"import os\n{UGLY}", "ugly.py": UGLY}
    workspace = HostWorkspace(tmp_path, files, "ruff check --select=F401 .", StepKind.LINT)
    candidate = await repaired(workspace, ToolFixer((tool,)))
    assert isinstance(candidate, Candidate)
    assert [change.path for change in candidate.changes] == ["bad.py"]
    assert "ruff format --no-cache ." in workspace.commands


@pytest.fixture(scope="module")
def rust() -> None:
    """Skip without a Rust toolchain: this project does not need one, and no script installs it.

    The mechanism has a test above that always runs; these show Rust's own programs.
    """
    # The programs of rustup are there without a toolchain, too.
    words = ["cargo", "fmt", "--version"]
    if not shutil.which("cargo") or subprocess.run(words, check=False).returncode:
        pytest.skip("there is no Rust toolchain here")


CARGO = '[package]\nname = "m"\nversion = "0.1.0"\nedition = "2021"\n'


async def test_a_test_of_rust_is_laid_out(tmp_path: Path, rust: None) -> None:
    files = {
        "Cargo.toml": CARGO,
        "src/lib.rs": "pub fn f() {}\n",
        "tests/a.rs": "#[test] fn a() { m::f( ); assert_eq!(1+1,2); }\n",
    }
    workspace = HostWorkspace(tmp_path, files, "cargo fmt --check", StepKind.FORMAT)
    candidate = await repaired(workspace)
    assert isinstance(candidate, Candidate)
    assert [(c.path, c.content) for c in candidate.changes] == [
        ("tests/a.rs", "#[test]\nfn a() {\n    m::f();\n    assert_eq!(1 + 1, 2);\n}\n")
    ]


@pytest.mark.parametrize(
    ("command", "source", "expected"),
    [
        ("cargo fmt --all -- --check", "fn  f() {}\n", "fn f() {}\n"),
        (
            "cargo clippy -- -D warnings",
            "pub fn f(x: &str) -> bool {\n    return x.len() == 0;\n}\n",
            "pub fn f(x: &str) -> bool {\n    x.is_empty()\n}\n",
        ),
    ],
)
async def test_a_tool_for_whole_projects_changes_the_named_file(
    tmp_path: Path, rust: None, command: str, source: str, expected: str
) -> None:
    files = {"Cargo.toml": CARGO, "src/lib.rs": source}
    workspace = HostWorkspace(tmp_path, files, command, StepKind.LINT)
    candidate = await repaired(workspace)
    assert isinstance(candidate, Candidate)
    assert [(c.path, c.content) for c in candidate.changes] == [("src/lib.rs", expected)]
    await workspace.apply_changes(candidate.changes)
    assert (await workspace.run(command)).ok
