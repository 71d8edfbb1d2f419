"""Run README, the tutorials and the guides with outputs block by block, and compare what they print with the page."""

import json
import re
import sys
from pathlib import Path

import pytest

from tests.acceptance.pages import ROOT, Block, Shell, blocks, same
from tests.demo.repositories import broken_repository

TUTORIAL = "docs/tutorial/first-fix.md"
SET_UP = "docs/tutorial/set-up.md"
REPLAY = "docs/howto/replay.md"
RESULT = re.compile(r"demo: (?:\d+ repositories are green|\w+ [A-Z_]+ after |done in )")
"""The lines of the demo that README shows, of all that it says."""
ONCE = re.compile(r"/setup#(\S+)")
"""The code of one set-up."""
PLACE = re.compile(
    r"(?<=, or ).* They differ on: .*|^ *[23]\. |(?<=differs from 1 on ).*", re.MULTILINE
)
"""What a question says of a choice that depends on its place among almost equal ones."""
HASH = re.compile(r"\b[0-9a-f]{12,64}\b…?|\bPython 3\.\d+\.\d+")


def follow(page: str, shell: Shell) -> None:
    """Run the blocks of a page in order, and compare what they print."""
    printed = ""
    for block in blocks(page):
        printed = step(block, shell, printed)


def step(block: Block, shell: Shell, printed: str) -> str:
    """Run one block, or compare what the one before it printed."""
    if block.kind == "text":
        shown = unranked if "\nChoices\n" in block.text else same
        assert shown(printed) == shown(block.text)
        return printed
    assert block.kind == "sh", block
    if block.text.startswith("make "):
        # It would install over what runs this test: only its target is looked for.
        target = block.text.splitlines()[0]
        shell.run(f"{target} --dry-run", folder=ROOT)
        return ""
    return shell.run(block.text)


@pytest.mark.docker
@pytest.mark.slow
def test_the_tutorial_does_what_it_says(tmp_path: Path, docker_ready: None) -> None:
    shell = Shell(tmp_path)
    follow(TUTORIAL, shell)
    assert "quantity >= pieces" in (shell.here / "shop" / "pricing.py").read_text()
    assert "age > 17" in (shell.here / "club" / "ages.py").read_text()


def test_the_fix_that_readme_shows_is_the_one_of_the_tutorial() -> None:
    """The test of the tutorial runs it."""
    example, shown = [block for block in blocks("README.md") if block.kind != "mermaid"][-2:]
    steps = list(blocks(TUTORIAL))
    fix = steps.index(example)
    assert same(steps[fix + 1].text) == same(shown.text)


@pytest.mark.docker
@pytest.mark.slow
def test_the_demo_prints_what_readme_shows(tmp_path: Path, docker_ready: None) -> None:
    start, shown = list(blocks("README.md"))[:2]
    assert start.text == "make demo"
    # What `make demo` runs when everything is installed.
    printed = Shell(tmp_path).run(f"{sys.executable} -m tests.demo", folder=ROOT)
    before_and_report = {line for line in told(printed) if not RESULT.match(line)}
    assert sorted(set(told(printed)) - before_and_report) == told(shown.text)


def test_the_set_up_tutorial_does_what_it_says(tmp_path: Path) -> None:
    install, serve, waits, doctor, simulate = blocks(SET_UP)
    shell = Shell(tmp_path)
    step(install, shell, "")
    started = f"exec 3< <(METAAGENT_PORT=0 exec timeout 120 {serve.text} 2>&1)"
    printed = shell.run(f"{started}; head -n {len(waits.text.splitlines())} <&3; kill $!")
    code, shown = (ONCE.findall(text)[0] for text in (printed, waits.text))
    assert same(printed.replace(code, "CODE")) == same(waits.text.replace(shown, "CODE"))
    assert "GitHub App" in shell.run(f"{doctor.text} || true")
    push = {"ref": "refs/heads/main", "before": "a" * 40, "after": "b" * 40}
    people = {"pusher": {"name": "ada"}, "sender": {"login": "ada", "type": "User"}}
    payload = {**push, **people, "repository": {"id": 3, "full_name": "acme/shop"}}
    (shell.here / "payload.json").write_text(json.dumps(payload))
    assert shell.run(simulate.text).endswith("Nothing was written.\n")


@pytest.mark.docker
@pytest.mark.slow
def test_the_replay_that_the_guide_shows_is_what_the_command_prints(
    tmp_path: Path, docker_ready: None
) -> None:
    _, example, shown = blocks(REPLAY)
    shell = Shell(tmp_path)
    broken_repository("broken_math").write(shell.here / "path" / "to" / "project")
    _, verdict, report = shell.run(example.text).partition("CONFIRMED")
    assert unhashed(verdict + report) == unhashed(shown.text)


def unranked(question: str) -> list[str]:
    """The lines of a question; choices after the first change places with the speed of the machine."""
    return sorted(PLACE.sub("", same(question)).splitlines())


def unhashed(replay: str) -> str:
    """Replace what differs from one replay or host to the next: hashes, ids, versions, widths of columns."""
    return " ".join(HASH.sub("HASH", same(replay)).split())


def told(demo: str) -> list[str]:
    """The lines of a demo, as they are told whichever mission ends first."""
    return sorted(" ".join(line.split()) for line in same(demo).splitlines())


@pytest.mark.parametrize("page", ["README.md", TUTORIAL, SET_UP, REPLAY, "docs/howto/databases.md"])
def test_every_block_of_a_page_that_is_run_says_what_it_is(page: str) -> None:
    assert {block.kind for block in blocks(page)} <= {"sh", "text", "mermaid"}
