"""Every feasible workflow of the corpus is rebuilt in a real sandbox, and its step fails there as it did in CI."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, FolderSource, RunVerdict, TrustTier
from sandbox.workspace import Sandboxes
from tests.workflow_corpus import Example, examples

pytestmark = [pytest.mark.docker, pytest.mark.slow]

FEASIBLE = tuple(example for example in examples() if example.feasible)


@pytest.fixture(scope="module")
async def sandboxes(
    docker_ready: None, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Sandboxes]:
    """One door for all; one repository identity, so that equal environments are shared."""
    backend = DockerBackend(SandboxSpec(pool=0))
    yield Sandboxes(SandboxSpec(), backend, tmp_path_factory.mktemp("data"))
    await backend.close()


@pytest.mark.anyio
@pytest.mark.parametrize("example", FEASIBLE, ids=lambda example: example.name)
async def test_the_failing_step_fails_alike(
    example: Example, sandboxes: Sandboxes, tmp_path: Path
) -> None:
    for name, content in example.files().items():
        path = tmp_path / "repository" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    source = FolderSource(path=str(tmp_path / "repository"), repository_id="workflows")
    checkout = Checkout(source=source, tier=TrustTier.LOCAL, hints=example.hints)
    async with sandboxes.open_workspace(checkout) as workspace:
        report = await workspace.run_tests()
        facts = await workspace.facts()
    assert facts.recipe.obstacles == ()
    assert report.verdict is RunVerdict.FAIL, report.summary + report.raw_output[-2000:]
    if example.expected.get("failing"):
        assert sorted(report.failing) == sorted(example.expected["failing"]), report.raw_output[
            -2000:
        ]
    if example.expected.get("python"):
        assert facts.interpreter.startswith(f"Python {example.expected['python']}.")
