"""The documents as a site: every link and anchor leads somewhere, and every page can be found."""

import re
import subprocess
import sys
from pathlib import Path

from tests.architecture.tracked import ROOT

DOCS = ROOT / "docs"


def build(folder: Path) -> subprocess.CompletedProcess[str]:
    """Build the site as `make site` does."""
    return subprocess.run(
        [ROOT / "scripts" / "build-site", Path(sys.executable).parent.parent, folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_site_is_built_without_a_warning(tmp_path: Path) -> None:
    done = build(tmp_path / "site")
    assert done.returncode == 0, done.stdout + done.stderr
    pages = sorted((tmp_path / "site" / "site").rglob("index.html"))
    assert len(pages) == len(list(DOCS.rglob("*.md")))


def test_the_first_page_leads_to_every_page_but_decisions() -> None:
    linked = set(re.findall(r"\]\(([^)#]+\.md)\)", (DOCS / "index.md").read_text()))
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} - {"index.md"}
    assert {page for page in pages if not page.startswith("decisions/")} == linked
