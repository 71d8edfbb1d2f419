"""Jobs of Rust in a real sandbox: its image is built with Debian's cargo when a job needs it."""

from pathlib import Path

import pytest

from bot.mission.failures.rust_signatures import missing_rust_part
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, FolderSource, JobHints, RunVerdict, TestReport
from sandbox.workspace import Sandboxes

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]

MANIFEST = '[package]\nname = "rates"\nversion = "0.1.0"\nedition = "2021"\n'
SOURCE = """pub fn fee(n: u32) -> u32 {
    n * 3
}

#[test]
fn doubles() {
    assert_eq!(fee(2), 4);
}

#[test]
fn nothing() {
    assert_eq!(fee(0), 0);
}
"""


@pytest.fixture(scope="module")
def docker(docker_ready: None) -> DockerBackend:
    return DockerBackend(SandboxSpec(pool=0))


async def report(
    docker: DockerBackend, folder: Path, command: str, files: dict[str, str]
) -> TestReport:
    """Run a command on a crate."""
    (folder / "rates/src").mkdir(parents=True)
    for name, text in files.items():
        (folder / "rates" / name).write_text(text)
    sandboxes = Sandboxes(SandboxSpec(pool=0), docker, folder / "data")
    source = FolderSource(path=str(folder / "rates"), repository_id="local:rates")
    checkout = Checkout(source=source, hints=JobHints(command=command))
    async with sandboxes.open_workspace(checkout) as workspace:
        assert (await workspace.facts()).recipe.obstacles == ()
        return await workspace.run_tests()


@pytest.mark.parametrize("edition", ["2021", "2024"])
async def test_a_failing_test_is_named(docker: DockerBackend, tmp_path: Path, edition: str) -> None:
    files = {"Cargo.toml": MANIFEST.replace("2021", edition), "src/lib.rs": SOURCE}
    found = await report(docker, tmp_path, "cargo test", files)
    assert (found.verdict, found.failing) == (RunVerdict.FAIL, frozenset({"doubles"}))


@pytest.mark.parametrize("command", ["cargo fmt --check", "cargo clippy -- -D warnings"])
async def test_formatter_and_linter_are_there(
    docker: DockerBackend, tmp_path: Path, command: str
) -> None:
    files = {"Cargo.toml": MANIFEST, "src/lib.rs": SOURCE}
    assert (await report(docker, tmp_path, command, files)).verdict is RunVerdict.PASS


@pytest.mark.parametrize(
    ("manifest", "part"),
    [
        (MANIFEST + '\n[dependencies]\nserde = "1"\n', "the crate `serde` is not vendored"),
        (
            MANIFEST.replace("2021", "2024") + 'rust-version = "1.999"\n',
            "it needs another Rust: requires rustc 1.999",
        ),
    ],
)
async def test_what_a_crate_lacks_is_named(
    docker: DockerBackend, tmp_path: Path, manifest: str, part: str
) -> None:
    found = await report(
        docker, tmp_path, "cargo test", {"Cargo.toml": manifest, "src/lib.rs": SOURCE}
    )
    assert found.verdict is RunVerdict.FAIL
    assert missing_rust_part(found.failures[0].output) == part
