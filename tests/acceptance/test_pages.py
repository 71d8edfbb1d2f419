"""README and the tutorial, block by block, from an empty folder: each command works, and prints what the page shows."""

import re
import sys
from pathlib import Path

import pytest

from tests.acceptance.pages import ROOT, Block, Shell, blocks, same

TUTORIAL = "docs/tutorial/first-fix.md"
RESULT = re.compile(r"demo: (?:\d+ repositories are green|\w+ [A-Z_]+ after |done in )")
"""The lines of the demo that README shows, of all that it says."""


def follow(page: str, shell: Shell, upto: str = "") -> None:
    """Run the blocks of a page in order, and compare what they print; stop before a block that begins so."""
    printed = ""
    for block in blocks(page):
        if upto and block.text.startswith(upto):
            return
        printed = step(block, shell, printed)


def step(block: Block, shell: Shell, printed: str) -> str:
    """Run one block, or compare what the one before it printed."""
    if block.kind == "text":
        assert same(printed) == same(block.text)
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


@pytest.mark.docker
@pytest.mark.slow
def test_the_fix_that_readme_shows_is_what_the_command_prints(tmp_path: Path, docker_ready: None) -> None:
    shell = Shell(tmp_path)
    example, shown = [block for block in blocks("README.md") if block.kind != "mermaid"][-2:]
    follow(TUTORIAL, shell, upto="metaagent fix shop")
    step(shown, shell, step(example, shell, ""))
    assert example.text.startswith("metaagent fix ")


@pytest.mark.docker
@pytest.mark.slow
def test_the_demo_prints_what_readme_shows(tmp_path: Path, docker_ready: None) -> None:
    start, shown = list(blocks("README.md"))[:2]
    assert start.text == "make demo"
    # What `make demo` runs when everything is installed.
    printed = Shell(tmp_path).run(f"{sys.executable} -m tests.demo", folder=ROOT)
    before_and_report = {line for line in told(printed) if not RESULT.match(line)}
    assert sorted(set(told(printed)) - before_and_report) == told(shown.text)


def told(demo: str) -> list[str]:
    """The lines of a demo, as they are told whichever mission ends first."""
    return sorted(" ".join(line.split()) for line in same(demo).splitlines())


def test_every_block_of_readme_and_the_tutorials_says_what_it_is() -> None:
    for page in ("README.md", TUTORIAL):
        assert {block.kind for block in blocks(page)} <= {"sh", "text", "mermaid"}, page
