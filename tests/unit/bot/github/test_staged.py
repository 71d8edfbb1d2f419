"""A dry run asks and does not tell: whatever is called, the GitHub behind it is only read."""

import inspect
from typing import Any

import pytest

from bot.domain.github import BranchCommit, CheckUpdate, Suggestion
from bot.domain.request import RepositoryRef
from bot.github.staged import Notebook, stage
from bot.ports.github import GitHub, GitHubReads, GitHubWrites
from sandbox.types import FileEdit
from tests.fakes.fake_github import FakeGitHub

pytestmark = pytest.mark.anyio
REPOSITORY = RepositoryRef(id=1, owner="acme", name="shop")
READS = frozenset(
    {
        "branch_head",
        "branch_rules",
        "check_runs",
        "clone_source",
        "commit",
        "failed_job",
        "job_log",
        "labels",
        "merge_base",
        "open_pull_requests",
        "own_issue",
        "permission",
        "pull_request",
        "pull_request_files",
        "pull_requests_at",
        "pull_requests_from",
        "read_called",
        "read_file",
        "commit_statuses",
        "release",
        "runs_at",
        "workflow_run",
    }
)
"""The calls that change nothing; a new method of a port is a write until it stands here."""
COMMIT = BranchCommit(branch="metaagent/x", parent="a" * 40, message="Mend it")
EDIT = FileEdit(path="a.py", mode="100644", content=b"x = 1\n")
VALUES: dict[str, Any] = {
    "repository": REPOSITORY,
    "commit": COMMIT,
    "edits": (EDIT,),
    "update": CheckUpdate(status="completed", title="t", summary="s"),
    "suggestions": (Suggestion(path="a.py", start_line=1, end_line=1, text="x = 1"),),
    "labels": ("one",),
    "reviewers": ("lisa",),
    "draft": False,
    "expected": "a" * 40,
    "is_open": None,
}
NUMBERS = {"number", "job_id", "run_id", "comment_id"}


class OnlyRead:
    """A GitHub that fails the test when it is told anything."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        assert name in READS, f"{name} writes"

        async def ask(*_: object, **__: object) -> Any:
            self.asked.append(name)
            return None if name in {"branch_head", "pull_request"} else ()

        return ask


def arguments(method: Any) -> dict[str, Any]:
    """Something for every parameter."""
    names = list(inspect.signature(method).parameters)[1:]
    return {name: VALUES.get(name, 3 if name in NUMBERS else "word") for name in names}


def methods(port: type) -> list[str]:
    return [
        name for name, _ in inspect.getmembers(port, inspect.isfunction) if not name.startswith("_")
    ]


async def test_every_write_of_every_port_is_noted_and_not_done() -> None:
    notebook = Notebook()
    view = stage(OnlyRead(), notebook, writes_check=False)
    for name in methods(GitHub):
        notebook.writes = []
        await getattr(view, name)(**arguments(getattr(GitHub, name)))
        assert bool(notebook.writes) == (name not in READS), name


def test_the_ports_halves_are_what_reads_and_what_writes() -> None:
    assert set(methods(GitHubReads)) == READS
    assert not READS & set(methods(GitHubWrites))


def test_a_call_of_no_port_is_not_passed_through() -> None:
    with pytest.raises(AttributeError, match="missing_permissions"):
        stage(FakeGitHub(), Notebook()).missing_permissions  # type: ignore[attr-defined]  # noqa: B018


async def test_what_would_be_there_is_found_again() -> None:
    fake = FakeGitHub()
    fake.branches["main"] = "b" * 40
    view = stage(fake, Notebook())
    sha = await view.commit_on_new_branch(REPOSITORY, COMMIT, (EDIT,))
    assert sha == await view.commit_on_new_branch(REPOSITORY, COMMIT, (EDIT,))
    assert await view.branch_head(REPOSITORY, "metaagent/x") == sha
    words = {"title": "Mend", "body": "b", "draft": True}
    pull = await view.open_pull_request(REPOSITORY, head="metaagent/x", base="main", **words)  # type: ignore[arg-type]
    assert (pull.head_sha, pull.base_sha) == (sha, "b" * 40)
    assert await view.pull_requests_from(REPOSITORY, "metaagent/x") == (pull,)
    assert await view.pull_request(REPOSITORY, 0) == pull
    assert fake.branches == {"main": "b" * 40}


async def test_a_comment_that_is_changed_is_noted_once() -> None:
    notebook = Notebook()
    view = stage(FakeGitHub(), notebook)
    for words in ("first", "second"):
        await view.comment(REPOSITORY, 5, words, marker="<!-- m -->")
    assert [(one.what, one.text) for one in notebook.writes] == [("comment on #5", "second")]


async def test_progress_of_our_check_is_written_as_it_is() -> None:
    fake = FakeGitHub()
    view = stage(fake, Notebook())
    running = CheckUpdate(status="in_progress", title="t", summary="s", external_id="m")
    await view.publish_check(REPOSITORY, "a" * 40, running)
    await view.publish_check(REPOSITORY, "a" * 40, running.with_(status="completed"))
    (check,) = fake.checks
    assert [update.summary.startswith("**Staged**") for update in check.updates] == [False, True]


async def test_what_was_written_by_others_stays_in_its_fence() -> None:
    notebook = Notebook()
    notebook.note(
        REPOSITORY, "comment\n\n</code><b>@everybody", "```\n<img src=x> </details> @all\n````\nout"
    )
    text = notebook.markdown()
    fence = next(line for line in text.splitlines() if line.startswith("`"))
    assert len(fence) == 5
    inside = text.partition(f"{fence}\n")[2].partition(f"\n{fence}")[0]
    assert inside.endswith("out")
    assert "img" not in text.replace(inside, "")
    assert "<summary><code>comment &lt;/code&gt;&lt;b&gt;@everybody</code></summary>" in text


async def test_a_long_list_is_cut_and_closed() -> None:
    notebook = Notebook()
    for number in range(20):
        notebook.note(REPOSITORY, f"comment on #{number}", "x\n" * 10_000)
    text = notebook.markdown()
    assert len(text) <= 30_000
    assert text.count("<details>") == text.count("</details>")
