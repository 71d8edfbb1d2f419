"""A search in a real sandbox, from files to what it tells."""

from collections.abc import Mapping
from pathlib import Path

from sandbox.backends.base import Backend
from sandbox.spec import SandboxSpec
from sandbox.types import (
    Checkout,
    FolderSource,
    SearchRequest,
    Survivor,
    TrialDone,
    TrialEvent,
    apply_spans,
)
from sandbox.workspace import Sandboxes
from tests.patience import stretched

PROTECTED = ("test_*.py", "*/test_*.py", "conftest.py")


async def searched(
    backend: Backend, folder: Path, files: Mapping[str, str], **changes: object
) -> list[TrialEvent]:
    """The events of a search in a repository of these files, which stay as they are.

    Args:
        backend: Where the sandbox is opened.
        folder: The repository and the data are put there.
        files: Path to text.
        changes: Of the request; the failing tests are measured first where they are not given.
    """
    for name, text in files.items():
        path = folder / "repo" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    command = str(changes.get("command", "python -m pytest -q"))
    sandboxes = Sandboxes(SandboxSpec(), backend, folder / "data")
    async with sandboxes.open_workspace(
        Checkout(source=FolderSource(path=str(folder / "repo")))
    ) as workspace:
        if "failing" not in changes:
            report = await workspace.run_tests(command=command)
            changes = {
                "failing": sorted(report.failing),
                "passing": sorted(report.passing),
                **changes,
            }
        given: dict[str, object] = {
            "command": command,
            "protected": PROTECTED,
            "time_limit_s": 60.0,
        }
        request = SearchRequest.model_validate({**given, **changes})
        request = request.model_copy(update={"time_limit_s": stretched(request.time_limit_s)})
        before = await workspace.changes()
        events = [event async for event in workspace.search(request)]
        assert await workspace.changes() == before
    assert isinstance(events[-1], TrialDone)
    return events


def survivors(events: list[TrialEvent]) -> list[Survivor]:
    """In the order they were told."""
    return [event for event in events if isinstance(event, Survivor)]


def new_text(survivor: Survivor, files: Mapping[str, str]) -> str:
    """The text a survivor makes of the file of its first edit."""
    return apply_spans(files[survivor.path], survivor.edits)
