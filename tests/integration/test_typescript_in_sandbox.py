"""Type errors of TypeScript in the real sandbox: the project's language service finds the repair, tsc confirms it."""

import json
from pathlib import Path

import pytest

from bot.domain.diagnosis import FailureKind
from bot.domain.patch import Candidate, FixBudget, RungNote
from bot.fixers.rung1_search.engine import SearchFixer
from bot.fixers.rung1_search.finding_reports import detailed_findings
from sandbox.backends.base import Backend
from sandbox.backends.docker_container import DockerBackend
from sandbox.spec import SandboxSpec
from sandbox.types import Checkout, FolderSource, JobHints, ProposalRequest, apply_spans
from sandbox.workspace import Sandboxes
from tests.builders import a_diagnosis, a_running_mission
from tests.fakes.memory_lessons import MemoryLessons
from tests.patience import stretched

pytestmark = [pytest.mark.anyio, pytest.mark.docker, pytest.mark.slow]
PACKAGES = json.dumps({"name": "web", "devDependencies": {"typescript": "5.9.3"}})
OPTIONS = {
    "strict": True,
    "types": [],
    "target": "ES2022",
    "module": "ESNext",
    "moduleResolution": "Bundler",
}
MODEL = """export interface User {
  name: string;
  nickname?: string;
}

export function shown(user: User): string {
  return user.nickname ?? user.name;
}
"""
LIST = """import { shown, type User } from "../../model/src/user";

export function list(users: User[]): string[] {
  return users.map((user) => `${shown(user)} (${user.name.length})`);
}
"""


@pytest.fixture(scope="module")
def backend(docker_ready: None) -> Backend:
    return DockerBackend(SandboxSpec(pool=0))


async def repaired(
    backend: Backend, folder: Path, files: dict[str, str], command: str
) -> tuple[Candidate | RungNote, bool]:
    """Return what rung 1 proposes, and whether the command is green with it."""
    repository = folder / "repo"
    for path, text in {"package.json": PACKAGES, **files}.items():
        (repository / path).parent.mkdir(parents=True, exist_ok=True)
        (repository / path).write_text(text)
    sandboxes = Sandboxes(SandboxSpec(), backend, folder / "data")
    checkout = Checkout(source=FolderSource(path=str(repository)), hints=JobHints(command=command))
    async with sandboxes.open_workspace(checkout) as workspace:
        red = await workspace.run_tests()
        assert red.failures, red.summary
        context = a_running_mission(test_results=red)
        diagnosis = a_diagnosis(kind=FailureKind.LINT, failures=red.failures)
        budget = FixBudget(time_limit_s=stretched(120))
        fixer = SearchFixer(MemoryLessons())
        (found,) = [one async for one in fixer.propose(context, diagnosis, workspace, budget)]
        assert await workspace.changes() == (), "left as it was found"
        if isinstance(found, RungNote):
            return found, False
        await workspace.apply_changes(found.changes)
        green = (await workspace.run_tests()).success
    return found, green


async def test_errors_in_two_projects_of_a_build_are_repaired_together(
    backend: Backend, tmp_path: Path
) -> None:
    composite = OPTIONS | {"composite": True, "rootDir": "..", "outDir": "../out"}
    files = {
        "tsconfig.json": json.dumps({"files": [], "references": [{"path": "list"}]}),
        "model/tsconfig.json": json.dumps({"compilerOptions": composite, "include": ["src"]}),
        "list/tsconfig.json": json.dumps(
            {
                "compilerOptions": composite,
                "include": ["src"],
                "references": [{"path": "../model"}],
            }
        ),
        "model/src/user.ts": MODEL.replace("?? user.name", "?? user.nam"),
        "list/src/list.ts": LIST.replace("shown(user)", "show(user)"),
    }
    found, green = await repaired(backend, tmp_path, files, "npx tsc -b --force")
    assert isinstance(found, Candidate), found
    assert green
    changed = {change.path: change.content for change in found.changes}
    assert changed == {"list/src/list.ts": LIST, "model/src/user.ts": MODEL}
    assert found.warnings == ("no tests were run: only the check validated this",)


async def test_an_error_in_another_folder_is_repaired_and_its_test_is_not_edited(
    backend: Backend, tmp_path: Path
) -> None:
    """The cause is a declaration in another file than the errors, one of which is in a test."""
    files = {
        "web/tsconfig.json": json.dumps(
            {"compilerOptions": OPTIONS | {"noEmit": True}, "include": ["."]}
        ),
        "web/model/src/user.ts": MODEL.replace("nickname?:", "nickname:"),
        "web/list/src/list.ts": LIST + 'list([{ name: "a" }]);\n',
        "web/list/src/list.test.ts": 'import { list } from "./list";\n\nlist([{ name: "b" }]);\n',
    }
    found, green = await repaired(backend, tmp_path, files, "cd web && npx tsc --project .")
    assert isinstance(found, Candidate), found
    assert green
    changed = {change.path: change.content for change in found.changes}
    assert changed == {"web/model/src/user.ts": MODEL}


async def proposed(
    backend: Backend,
    folder: Path,
    texts: dict[str, str],
    codes: set[str],
    *,
    only_clear: bool = False,
) -> list[tuple[str, str]]:
    """Return template and text of each proposal; the check of the files has these errors."""
    repository = folder / "repo"
    repository.mkdir(parents=True)
    options = {"package.json": PACKAGES, "tsconfig.json": json.dumps({"compilerOptions": OPTIONS})}
    for path, text in {**options, **texts}.items():
        (repository / path).write_text(text)
    checkout = Checkout(
        source=FolderSource(path=str(repository)), hints=JobHints(command="npx tsc --noEmit")
    )
    sandboxes = Sandboxes(SandboxSpec(), backend, folder / "data")
    async with sandboxes.open_workspace(checkout) as workspace:
        red = await workspace.run_tests()
        findings = detailed_findings(red)
        assert {finding.code for finding in findings} == codes
        request = ProposalRequest(
            findings=findings, command=red.target, time_limit_s=stretched(60), only_clear=only_clear
        )
        found = await workspace.proposals(request)
        assert all(one.is_clear == only_clear for one in found)
    return [(one.template, apply_spans(texts[one.edits[0].path], one.edits)) for one in found]


async def test_no_proposal_hides_an_error(backend: Backend, tmp_path: Path) -> None:
    """The language service offers `any` for two errors, and an assertion for a third."""
    texts = {
        "a.ts": "export function f(x) {\n  return x;\n}\n\n"
        "export const n = ({ a: 1 } as string).length;\n",
        # Two offers with `any` follow each other here.
        "b.ts": "class Box {\n  size = 1;\n}\n\nexport default (box: Box) => box.weight;\n",
    }
    found = await proposed(backend, tmp_path, texts, {"TS7006", "TS2339", "TS2352"})
    assert found
    assert not [new for _, new in found if "any" in new or "unknown" in new or "@ts-" in new]


async def test_a_clear_edit_ends_the_search_on_request(backend: Backend, tmp_path: Path) -> None:
    right = "const total = 1;\nexport const shown = (given: number) => given + total;\n"
    texts = {"a.ts": right.replace("+ total", "+ totals")}
    every = await proposed(backend, tmp_path / "every", texts, {"TS2552"})
    clear = await proposed(backend, tmp_path / "clear", texts, {"TS2552"}, only_clear=True)
    assert clear == every[:1] == [("code_fix", right)]
    assert len(every) > 1


async def test_proposals_fit_the_quotes_and_the_keys_of_a_file(
    backend: Backend, tmp_path: Path
) -> None:
    icons = (
        'interface Icons {\n  ":(": number;\n}\n\nexport const icons: Icons = { ":(": "sad" };\n'
    )
    task = 'interface Task {\n  id: number;\n  state: "open";\n}\n\nexport const task: Task = '
    texts = {"icons.ts": icons, "task.ts": task + "{ id: 1 };\n"}
    found = await proposed(backend, tmp_path, texts, {"TS2322", "TS2741"})
    assert ("ts_object", task + '{ id: 1, state: "open" };\n') in found
    assert ("ts_declaration", icons.replace("number", "string")) in found


LIBRARY = """export interface Box {
  id: number;
  weight: number;
}

export const costOf = (box: Box): number => box.weight * 3;

export function find(boxes: Map<number, Box>, id: number): Box {
  const box = boxes.get(id);
  if (!box) throw new RangeError(`no box ${id}`);
  return box;
}

export type Colour = "red" | "green" | "grey";
"""
NATURAL = {
    "an imported function that has no use": (
        """import { costOf, type Box } from "./library";

export const total = (boxes: Box[]) => boxes.reduce((sum, box) => sum + costOf(box), 0);
""",
        "costOf(box), 0",
        "box, 0",
    ),
    "the check that follows another declaration": (
        """import type { Box } from "./library";

export function weightOf(boxes: Map<string, Box>, name: string): number {
  const found = boxes.get(name);
  if (!found) throw new RangeError(`no found ${name}`);
  return found.weight;
}
""",
        "  if (!found) throw new RangeError(`no found ${name}`);\n",
        "",
    ),
    "a comparison where zero is a value": (
        """export function record(seen: number[], counts: Map<string, number>, name: string): void {
  const count = counts.get(name);
  if (count !== undefined) {
    seen.push(count);
  }
}
""",
        "  if (count !== undefined) {\n    seen.push(count);\n  }\n",
        "  seen.push(count);\n",
    ),
    "the message of a caught error": (
        """export function attempt(work: () => void): string {
  try {
    work();
    return "done";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
""",
        "error instanceof Error ? error.message : String(error)",
        "error.message",
    ),
    "an array of what is no array": (
        "export const sorted = (names: ReadonlySet<string>) => [...names].sort();\n",
        "[...names]",
        "names",
    ),
    "the return of what was made": (
        """export function double(values: number[]): number[] {
  const doubled: number[] = [];
  for (const value of values) {
    doubled.push(value * 2);
  }
  return doubled;
}
""",
        "  return doubled;\n",
        "",
    ),
    "a literal that the list lacks": (
        """import type { Colour } from "./library";

export const ALL: Colour[] = ["red", "green", "grey"];
""",
        '"grey"',
        '"gren"',
    ),
}
"""Texts, and what is replaced in them by what; the best proposal restores each."""


async def test_the_best_proposal_is_what_a_person_would_write(
    backend: Backend, tmp_path: Path
) -> None:
    right, wrong = {}, {}
    for number, (text, old, new) in enumerate(NATURAL.values()):
        # The first line tells the texts of proposals apart.
        right[f"{number}.ts"] = f"// {number}.ts\n{text}"
        wrong[f"{number}.ts"] = f"// {number}.ts\n{text.replace(old, new)}"
    codes = {"TS2820", "TS2365", "TS18048", "TS2345", "TS18046", "TS2339", "TS2355"}
    found = await proposed(backend, tmp_path, {"library.ts": LIBRARY, **wrong}, codes)
    best = {path: next((new for _, new in found if path in new), "") for path in right}
    assert best == right
