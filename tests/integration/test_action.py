"""The Action itself, run by `act` on red repositories: on this host against a local GitHub, and in a job container."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.settings import load
from bot.wiring.mission_services import prepare_image
from tests.demo.repositories import broken_repository
from tests.demo.story import push_green, push_red, wait_for_ci
from tests.github_server.server import LocalGitHub, Options, strict_github
from tests.integration.locked_wheels import offline, wheelhouse
from tests.missing import missing

__all__ = ["wheelhouse"]

pytestmark = [pytest.mark.docker, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "workflows" / "two-jobs.yml"
SHIPPED = ("action.yml", "requirements.lock", "scripts", "bot", "sandbox")
"""What of a release the Action reads."""

PLACEHOLDER = "metaagent/metaagent@" + "0" * 40
WITHIN_S = 300.0

STORE = """\
name: A place for artifacts
description: Stands in for the actions that need GitHub's own service.
inputs:
  name: {description: The artifact.}
  path: {description: Files, or a folder.}
  retention-days: {description: Not kept here.}
runs:
  using: composite
  steps:
    - shell: bash
      env: {NAMED: "${{ inputs.path }}"}
      run: %s
"""
PUT = 'mkdir -p "$ARTIFACTS" && for file in $NAMED; do if [ -e "$file" ]; then cp "$file" "$ARTIFACTS"; fi; done'
GET = 'mkdir -p "$NAMED" && cp "$ARTIFACTS"/* "$NAMED"'

REPORT = f"""\
name: Repair
on: push
permissions: {{}}
jobs:
  repair:
    runs-on: ubuntu-latest
    timeout-minutes: 10
    permissions:
      contents: read
    steps:
      - uses: actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2
        with:
          persist-credentials: false
      - id: mission
        uses: {PLACEHOLDER}
        with:
          mode: report
      - env:
          OUTPUTS: ${{{{ toJSON(steps.mission.outputs) }}}}
          PATCH: ${{{{ steps.mission.outputs.patch-path }}}}
        run: |
          printf '%s' "$OUTPUTS" > "$KEPT/outputs.json"
          cp "$PATCH" "$KEPT/fix.patch"
"""


@dataclass(frozen=True)
class Act:
    """`act`, with everything it would fetch in folders of the test.

    Attributes:
        root: The test's folder.
        actions: What stands in for which action.
    """

    root: Path
    actions: Mapping[str, Path]

    def run(self, repository: Path, event: str, *arguments: str) -> str:
        """Run a workflow of a checkout; the log."""
        found = shutil.which("act", path=str(Path(sys.executable).parent))
        if found is None:
            missing("act, a development dependency, is not installed")
        stand_ins = [
            word
            for name, path in self.actions.items()
            for word in ("--local-repository", f"{name}={path}")
        ]
        words = [
            found,
            event,
            "--rm",
            "--action-offline-mode",
            "--pull=false",
            *stand_ins,
            *arguments,
        ]
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.root / "cache")}
        done = subprocess.run(
            words,
            cwd=repository,
            env=environment,
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def without_an_index(wheels: Path) -> list[str]:
    """Return options of `act` that let the step install from wheels only."""
    return [
        word for name, value in offline(wheels).items() for word in ("--env", f"{name}={value}")
    ]


def shipped(folder: Path) -> Path:
    """The Action as a release ships it."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *SHIPPED]
    names = (
        subprocess.run(listed, cwd=ROOT, capture_output=True, check=True)
        .stdout.decode()
        .split("\0")
    )
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def artifacts(folder: Path) -> dict[str, Path]:
    """What stands in for the artifact actions of the example, by the very commits it names."""
    found = {}
    for verb, script in (("upload", PUT), ("download", GET)):
        used = re.search(rf"actions/{verb}-artifact@[0-9a-f]{{40}}", EXAMPLE.read_text())
        assert used is not None
        found[used.group()] = folder / verb
        (folder / verb).mkdir()
        (folder / verb / "action.yml").write_text(STORE % json.dumps(script))
    return found


def red_checkout(folder: Path) -> Path:
    """A red repository with a workflow that repairs it."""
    broken_repository("broken_math").write(folder)
    shutil.rmtree(folder / ".github", ignore_errors=True)
    (folder / ".github" / "workflows").mkdir(parents=True)
    (folder / ".github" / "workflows" / "repair.yml").write_text(REPORT)
    git = ["git", "-C", str(folder), "-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    for words in (
        ["init", "-q", "-b", "main"],
        ["add", "-A"],
        ["commit", "-q", "-m", "Make it red"],
    ):
        subprocess.run([*git, *words], check=True)
    return folder


@pytest.fixture
def act(tmp_path: Path, docker_ready: None) -> Act:
    actions = {PLACEHOLDER: shipped(tmp_path / "action")}
    return Act(tmp_path, actions)


@pytest.fixture
def github(shared: Path) -> Iterator[LocalGitHub]:
    with strict_github(Options(openapi_dir=shared / "github")) as running:
        yield running


def check_patch(patch: Path, checkout: Path) -> None:
    """It applies, and is the fix."""
    subprocess.run(["git", "-C", str(checkout), "apply", "--check", str(patch)], check=True)
    assert "+    return a + b" in patch.read_text()


@pytest.mark.shared
def test_of_two_jobs_one_finds_the_fix_and_the_other_opens_the_pull_request(
    act: Act, github: LocalGitHub, wheelhouse: Path, tmp_path: Path
) -> None:
    """The example workflow as it stands, on this host: the failing commit is fetched, never checked out."""
    broken = broken_repository("broken_math")
    push_green(github, broken)
    sha = push_red(github, broken)
    wait_for_ci(github, sha)
    repository = github.repository("acme/broken_math")
    here = {"id": repository.id, "full_name": repository.full_name, "default_branch": "main"}
    event = tmp_path / "event.json"
    run = {
        "id": 1,
        "conclusion": "failure",
        "head_sha": sha,
        "head_branch": "main",
        "head_repository": here,
    }
    event.write_text(
        json.dumps({"repository": here, "workflow_run": {**run, "actor": {"login": "acme"}}})
    )
    actions = {**act.actions, **artifacts(tmp_path)}
    (tmp_path / "empty").mkdir()
    log = Act(tmp_path, actions).run(
        tmp_path / "empty",
        "workflow_run",
        *("-e", str(event), "-W", str(EXAMPLE), "-P", "ubuntu-latest=-self-hosted"),
        *("-s", f"GITHUB_TOKEN={github.user_token('acme')}", "--actor", "acme"),
        *(
            "--env",
            f"GITHUB_API_URL={github.api_url}",
            "--env",
            f"ARTIFACTS={tmp_path / 'artifacts'}",
        ),
        *without_an_index(wheelhouse),
    )
    (pull,) = github.pull_requests("acme/broken_math")
    assert pull.pull is not None
    assert (pull.pull.base_ref, pull.user) == ("main", "acme")
    assert b"return a + b" in github.files("acme/broken_math", pull.pull.head_sha)["broken_math.py"]
    assert "FIXED" in (pull.body or "")
    assert {path.name for path in (tmp_path / "artifacts").iterdir()} == {
        "mission.json",
        "report.md",
        "fix.patch",
    }
    assert f"pr-number={pull.number}" in log


def test_in_a_job_container_without_any_network_it_leaves_patch_summary_and_outputs(
    act: Act, wheelhouse: Path, tmp_path: Path
) -> None:
    """Docker on Docker: the sandbox is a container beside the job's."""
    checkout = red_checkout(tmp_path / "checkout")
    image, _ = prepare_image(load({}, environment={}))
    kept, sockets = tmp_path / "kept", tmp_path / "sockets"
    for folder in (kept, sockets):
        folder.mkdir()
    mounts = [
        f"-v {wheelhouse}:{wheelhouse}:ro",
        f"-v {kept}:{kept}",
        f"-v {sockets}:{sockets}",
    ]
    log = act.run(
        checkout,
        "push",
        *("-P", f"ubuntu-latest={image}", "--container-options", " ".join(["-u 0:0", *mounts])),
        *("--env", f"METAAGENT_SANDBOX__EGRESS_FOLDER={sockets}", "--env", f"KEPT={kept}"),
        *without_an_index(wheelhouse),
    )
    subprocess.run(["docker", "volume", "rm", "act-toolcache"], capture_output=True, check=False)
    told = json.loads((kept / "outputs.json").read_text())
    assert (told["outcome"], told["pr-number"], told["branch"]) == ("FIXED", "", "")
    assert float(told["confidence"]) > 0.5
    check_patch(kept / "fix.patch", checkout)
    _, summary = log.split("Summary - ## MetaAgent\n", 1)
    assert "FIXED" in summary
    assert "```diff" in summary
