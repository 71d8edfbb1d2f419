"""The blocks of the guides that need no sandbox, run as a reader would; and the list of those that no test can run."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.acceptance.pages import ROOT, Block, Shell, blocks

PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in (
        ROOT / "README.md",
        *ROOT.glob("docs/tutorial/*.md"),
        *ROOT.glob("docs/howto/*.md"),
    )
)
REBUILD = "docs/howto/rebuild-a-job.md"
LIMITS = "docs/howto/limits.md"
DATABASES = "docs/howto/databases.md"
MONITOR = "docs/howto/monitor.md"
POLICY = "docs/howto/policy.md"
RUN = {
    "README.md": "tests/acceptance/test_pages.py",
    "docs/tutorial/first-fix.md": "tests/acceptance/test_pages.py",
    "docs/tutorial/set-up.md": "tests/acceptance/test_pages.py",
    "docs/howto/replay.md": "tests/acceptance/test_pages.py",
    "docs/howto/improve.md": "tests/integration/test_improve_page.py",
    "docs/howto/repair.md": "tests/integration/test_repair_page.py",
    REBUILD: "tests/acceptance/test_guides.py",
    LIMITS: "tests/acceptance/test_guides.py",
    DATABASES: "tests/acceptance/test_guides.py",
    MONITOR: "tests/acceptance/test_guides.py",
    POLICY: "tests/acceptance/test_guides.py",
}
"""The pages whose commands a test runs, and the test."""
NOT_RUN = {
    "metaagent lessons": "needs lessons of many missions; tests/unit/bot/terminal/test_lessons.py",
    "export ANTHROPIC_API_KEY": "needs an account",
    "metaagent fix shop --model-agent codex-cli": "needs an account and an image of one's own",
    "metaagent fix shop --model-agent openai-chat": "needs an account and an agent",
    "metaagent replay mission:": "needs a mission of a service",
    "METAAGENT_APP_ID=": "needs a GitHub App",
    "METAAGENT_DATABASE_URL=": "needs a PostgreSQL server; tests/integration/test_service_on_github.py",
    "python3 -m venv /opt/metaagent": "needs root and systemd; tests/architecture/test_monitoring_files.py",
    "make service-image": "needs root and Docker Compose; tests/architecture/test_compose.py",
    "export POSTGRES_PASSWORD": "needs Docker Compose; tests/architecture/test_compose.py",
    "kubectl create namespace": "needs a cluster; tests/architecture/test_chart.py",
    "helm install": "needs a cluster; tests/architecture/test_chart.py",
    "install -d -o 65532": "needs a cluster's node; tests/integration/test_service_image.py",
    "pip install '.[s3]'": "needs a bucket; tests/contract/test_blobs.py",
    "metaagent logs mission:": "needs a mission of a service",
}
"""What a block that no test runs begins with, and why."""
ENGINE = ROOT / "tests" / "data" / "older_engine.sql"
"""The engine's tables as a service leaves them."""
WORKFLOW = """on: push
jobs:
  test:
    runs-on: ${{ matrix.os }}
    strategy:
      matrix:
        python-version: ["3.11", "3.12"]
        os: [ubuntu-latest, macos-latest]
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: ${{ matrix.python-version }}
      - run: pytest -q
"""


def commands() -> Iterator[tuple[str, Block]]:
    """Every block of commands, with its page."""
    for page in PAGES:
        yield from ((page, block) for block in blocks(page) if block.kind == "sh")


@pytest.mark.parametrize("page", PAGES)
def test_every_block_says_what_it_is(page: str) -> None:
    assert [block.text for block in blocks(page) if not block.kind] == []


def test_every_block_of_commands_is_run_or_listed_with_the_reason() -> None:
    unused = set(NOT_RUN)
    for page, block in commands():
        reason = next((start for start in NOT_RUN if block.text.startswith(start)), None)
        assert reason or page in RUN, f"{page}: no test runs\n{block.text}"
        unused -= {reason}
    assert not unused
    assert set(RUN) <= {page for page, _ in commands()}
    for test in set(RUN.values()):
        assert (ROOT / test).is_file()


def test_the_guide_to_rebuilding_a_job_does_what_it_says(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    workflow = shell.here / ".github" / "workflows" / "ci.yml"
    workflow.parent.mkdir(parents=True)
    workflow.write_text(WORKFLOW)
    (shell.here / "test_a.py").write_text("def test_a():\n    assert False\n")
    by_check, by_job, policy = blocks(REBUILD)
    printed = shell.run(by_check.text)
    assert "cell      python-version=3.11, os=ubuntu-latest\n" in printed
    assert printed.endswith("It can be rebuilt here.\n")
    assert shell.run(by_job.text) == printed
    (shell.here / ".github" / "metaagent.yml").write_text(policy.text)
    assert "python -m pytest -q tests/unit" in shell.run(by_check.text)


def test_the_guide_to_pausing_does_what_it_says(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    (block,) = (block for block in blocks(LIMITS) if block.kind == "sh")
    shell.run("metaagent db upgrade")
    *pauses, resume = block.text.splitlines()
    printed = [shell.run(line) for line in pauses]
    assert all("paused by the operator" in text for text in printed)
    assert "(costs)" in printed[2]
    assert "missions begin again" in shell.run(resume)


def test_the_guide_to_databases_does_what_it_says(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    data, backups, away = (tmp_path / name for name in ("data", "backups", "away"))
    for made in (backups, away):
        made.mkdir()
    places = {"/var/lib/metaagent": data, "/backups": backups, "/somewhere/else": away}

    def run(text: str) -> str:
        for place, here in places.items():
            text = text.replace(place, str(here))
        return shell.run(f"export METAAGENT_DATA_DIR={data}\n{text}")

    check, back_up, restore = (block.text for block in blocks(DATABASES) if block.kind == "sh")
    run("metaagent db upgrade")
    with closing(sqlite3.connect(data / "engine.sqlite")) as engine:
        engine.executescript(ENGINE.read_text())
    assert "our tables" in run(check)
    assert "metaagent.sqlite" in run(back_up.splitlines()[0])
    (backup,) = backups.iterdir()
    assert {path.name for path in backup.iterdir()} == {"engine.sqlite", "metaagent.sqlite"}
    run(restore)
    assert "our tables" in run(check)


def test_the_guide_to_monitoring_does_what_it_says(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    (block,) = (block for block in blocks(MONITOR) if block.kind == "sh")
    of_all, of_one = block.text.splitlines()[:2], block.text.splitlines()[2:]
    shell.run("metaagent db upgrade")
    report, missions = (line.partition("#")[0] for line in of_all)
    assert "0 missions ended" in shell.run(report)
    assert shell.run(f"{missions} || test $? = 1") == "no missions\n"
    for line in of_one:
        command = line.partition("#")[0].replace("MISSION", "mission:unknown")
        assert "mission:unknown" in shell.run(f"{{ {command} || test $? = 2; }} 2>&1")


def test_the_guide_to_policies_does_what_it_says(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    example = next(block for block in blocks(POLICY) if block.kind == "yaml")
    (check,) = (block for block in blocks(POLICY) if block.kind == "sh")
    policy = shell.here / ".github" / "metaagent.yml"
    policy.parent.mkdir()
    policy.write_text(example.text)
    of_folder, of_file = shell.run(check.text).splitlines()
    assert of_folder == ".github/metaagent.yml: the policy is valid"
    assert '"valid": true' in of_file
    policy.write_text("colour: red\n")
    assert "metaagent.yml:1: error: " in shell.run("metaagent policy check || test $? = 2")
