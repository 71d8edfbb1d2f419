"""What the rules of a project's own ESLint offer, in the real sandbox: both kinds of configuration, from red to FIXED."""

import json
from pathlib import Path

import pytest

from bot.domain.mission import Outcome
from bot.fixers.rung0_tools import tool_fixers
from bot.fixers.rung1_search.engine import SearchFixer
from bot.fixers.rung1_search.finding_reports import detailed_findings
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import (
    Checkout,
    EditDoubt,
    EditProposal,
    FolderSource,
    JobHints,
    ProposalRequest,
    apply_spans,
)
from sandbox.workspace import Sandboxes
from tests.fakes.scripted_fixer import KnownLessons
from tests.integration.red_commit import run_on_red_commit

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]
SHOP = """export function isCheap(prices, wanted) {
  const isKnown = Object.prototype.hasOwnProperty.call(prices, wanted);
  if (!isKnown || /[.]/.test(wanted)) {
    return false;
  }
  return prices[wanted] < 3;
}
"""
RED = (
    SHOP.replace("!isKnown", "!!!isKnown")
    .replace(
        "Object.prototype.hasOwnProperty.call(prices, wanted)", "prices.hasOwnProperty(wanted)"
    )
    .replace("[.]", "[\\.]")
)
"""Three findings: one for `--fix`, and two for which the rules have suggestions."""
TEST = """import assert from "node:assert";
import { test } from "node:test";
import { isCheap } from "../src/shop.js";

test("a price", () => {
  assert.equal(isCheap({ tea: 2 }, "tea"), true);
  assert.equal(isCheap({ tea: 2 }, "cup"), false);
});
"""
FLAT = {
    "eslint.config.js": 'import js from "@eslint/js";\n\n'
    'export default [js.configs.recommended, { rules: { eqeqeq: "error" } }];\n'
}
CLASSIC = {
    ".eslintrc.json": json.dumps(
        {
            "root": True,
            "extends": "eslint:recommended",
            "parserOptions": {"ecmaVersion": 2022, "sourceType": "module"},
            "rules": {"eqeqeq": "error"},
        }
    )
}


def project(eslint: str, **files: str) -> dict[str, str]:
    """Return a project whose scripts check and test it."""
    packages = {"eslint": eslint, "@eslint/js": eslint.split(".", maxsplit=1)[0]}
    manifest = {
        "name": "shop",
        "type": "module",
        "scripts": {"lint": "eslint src --max-warnings 0", "test": "node --test"},
        "devDependencies": packages,
    }
    return {"package.json": json.dumps(manifest), "test/shop.test.js": TEST, **files}


@pytest.fixture(scope="module")
def docker(docker_ready: None) -> DockerBackend:
    return DockerBackend(SandboxSpec(pool=0))


@pytest.mark.parametrize(("eslint", "configuration"), [("9.39.1", FLAT), ("8.57.1", CLASSIC)])
async def test_fixes_and_suggestions_together_make_the_command_green(
    docker: DockerBackend, tmp_path: Path, eslint: str, configuration: dict[str, str]
) -> None:
    green = project(eslint, **configuration, **{"src/shop.js": SHOP})
    fixers = (*tool_fixers(), SearchFixer(KnownLessons()))
    context = await run_on_red_commit(
        docker, tmp_path, (green, {"src/shop.js": RED}), JobHints(command="npm run lint"), fixers
    )
    assert context.outcome is Outcome.FIXED, context.reason
    assert context.fix is not None
    candidate, _ = context.fix
    assert (candidate.fixer, candidate.template) == ("search", "eslint_suggestion")
    (changed,) = {change.path: change.content for change in candidate.changes}.items()
    assert changed == ("src/shop.js", SHOP)


async def offered(
    docker: DockerBackend, folder: Path, files: dict[str, str], command: str
) -> dict[str, list[EditProposal]]:
    """Return what is offered for the findings of each rule."""
    repository = folder / "repo"
    for name, text in files.items():
        (repository / name).parent.mkdir(parents=True, exist_ok=True)
        (repository / name).write_text(text)
    hints = JobHints(command=command)
    checkout = Checkout(source=FolderSource(path=str(repository)), hints=hints)
    async with Sandboxes(SandboxSpec(), docker, folder / "data").open_workspace(checkout) as place:
        red = await place.run_tests()
        findings = detailed_findings(red)
        before = await place.changes()
        request = ProposalRequest(findings=findings, command=red.target, step=red.steps)
        found = await place.proposals(request)
        assert await place.changes() == before
    offers: dict[str, list[EditProposal]] = {finding.code: [] for finding in findings}
    for one in found:
        offers[findings[one.finding].code].append(one)
    return offers


async def test_an_offer_that_needs_a_person_says_why(docker: DockerBackend, tmp_path: Path) -> None:
    text = "\ufeffexport function size(list) {\n  try {\n    return list.length;\n  } catch {}\n\n"
    text += '  const empty = "é";\n  return /\\./.test(list) == 0 || list === -0;\n}\n'
    files = project("10.15.0", **FLAT, **{"web/size.js": text})
    found = await offered(docker, tmp_path, files, "cd web && npx eslint .")
    doubts = {code: [one.doubt for one in offers] for code, offers in found.items()}
    assert doubts == {
        "no-empty": [EditDoubt.COMMENT],
        "no-unused-vars": [None],
        "eqeqeq": [None],
        "no-compare-neg-zero": [EditDoubt.ALTERNATIVES, EditDoubt.ALTERNATIVES],
    }
    (unused,), (equal,) = found["no-unused-vars"], found["eqeqeq"]
    assert apply_spans(text, unused.edits) == text.replace('  const empty = "é";\n', "")
    assert apply_spans(text, equal.edits) == text.replace(" == ", " === ")
