"""What rung 0 knows and which fixers apply: the tables of tools, and of runners and rungs."""

import shlex

from bot.domain.account import ModelLimits
from bot.fixers.rung0_tools import TOOLS, tool_fixers
from bot.fixers.rung0_tools.calls import read_calls
from bot.fixers.rung0_tools.tool import Tool
from bot.fixers.rung1_search.engine import SearchFixer
from bot.fixers.rung1_search.search_trials import SearchTrials
from bot.fixers.rung2_model.fixer import ModelFixer
from bot.ports import Fixer
from sandbox.runners import RUNNERS
from sandbox.setup.node.install import install_words
from sandbox.setup.node.relock import lock_words
from sandbox.types import NodePart, TestReport
from tests.builders import a_report
from tests.fakes.memory_lessons import MemoryLessons
from tests.fakes.scripted_mind import ScriptedMind

LOCKED = {
    "npm": NodePart(manager="npm"),
    "pnpm": NodePart(manager="pnpm"),
    "Yarn, classic": NodePart(manager="yarn", manager_version="1"),
    "Yarn, Berry": NodePart(manager="yarn", manager_version="4"),
    "Bun": NodePart(manager="bun"),
}


def ladder_table() -> str:
    """A row for each runner, a column for each rung."""
    lines = [
        "| runner | rung 0, tools | rung 1, search | rung 2, model |",
        "| --- | --- | --- | --- |",
    ]
    for runner in RUNNERS:
        cells = (_answer(fixers, runner.name) for fixers in _rungs())
        lines.append(f"| `{runner.name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _rungs() -> tuple[tuple[Fixer, ...], ...]:
    lessons = MemoryLessons()
    model = ModelFixer(ScriptedMind({}), SearchTrials(lessons), ModelLimits())
    return tool_fixers(), (SearchFixer(lessons),), (model,)


def _answer(fixers: tuple[Fixer, ...], runner: str) -> str:
    """Whether a rung applies to every command of the runner, to those of a tool, or to none."""

    def red(command: str) -> TestReport:
        return a_report(runner=runner, target=command)

    if any(fixer.applies(red("some command")) for fixer in fixers):
        return "yes"
    by_tool = any(fixer.applies(red(failing_command(tool))) for fixer in fixers for tool in TOOLS)
    return "with [its tools](../reference/autofix.md)" if by_tool else "no"


def failing_command(tool: Tool) -> str:
    """The shortest command of a tool that can fail for findings."""
    return f"{tool.runs} {tool.checks.split()[0] if tool.checks else ''}".strip()


def autofix_page() -> str:
    """A row for each tool of rung 0."""
    lines = [
        "# Autofix tools",
        "",
        "The tools of [rung 0](../explanation/ladder.md). If one of these checks fails, its tool fixes what it found, in the sandbox,",
        "with the version of the environment and with those options of the command that choose rules and style.",
        "",
        "- Only files that the check named are changed, and of these no protected ones such as snapshots, settings and lock files. A tool",
        "  without a list of files fixes the whole project; its edits of other files are dropped.",
        "- A test file is changed only if it provably stays the same program; any other edit of one is dropped. The proof compares the",
        "  tokens, the syntax and the places of comments, of Python, JavaScript, TypeScript, Go and Rust. White space may differ, of",
        "  JavaScript and TypeScript also quotes, semicolons, commas at the end of lists and parentheses without effect, of Go the order",
        "  of imports. In Python also comments, the order of the imports of one block, and unused imports of the standard library or of",
        "  pytest. Other unused imports stay, because they may be fixtures, tests or plugins. Arguments of macros of Rust, templates and",
        "  regular expressions count with their exact text. Files in `testdata` and `__fixtures__` are data: only Python is proved there.",
        "- A formatter marked *companion* that finds nothing to change in these files before the fix runs after it.",
        "- Checks behind the failing one in the same command line run after the fix; what they find in the same files is fixed too.",
        "- The result is a proposal like any other: it counts only if the command is green in fresh sandboxes.",
        "",
        "Pre-commit hooks run as the tools' own commands, in the version that `.pre-commit-config.yaml` pins, on",
        "[the files that it chooses](recipe.md#hooks-of-pre-commit). `metaagent recipe` shows",
        "them. `python -m benchmarks.autofix` measures how often a seeded finding is gone.",
        "",
        "| failing command | fix | takes | marks |",
        "| --- | --- | --- | --- |",
    ]
    for tool in TOOLS:
        (call,) = read_calls(failing_command(tool), TOOLS)
        fix = shlex.join([tool.program, *tool.fix.split()])
        takes = "the project" if tool.whole_project else "named files"
        marks = [
            *(["companion"] if tool.check else []),
            *([f"status {max(tool.statuses)}"] if max(tool.statuses) > 1 else []),
        ]
        assert call.tool == tool
        lines.append(f"| `{failing_command(tool)}` | `{fix}` | {takes} | {', '.join(marks)} |")
    lines += ["", "*Status*: the highest exit status of a fix that ran; findings may remain."]
    lines += _lock_files()
    return "\n".join(lines) + "\n"


def _lock_files() -> list[str]:
    """A row for each installation that may refuse a lock file."""
    lines = [
        "",
        "## Lock files",
        "",
        "If an installation refuses a lock file because it does not fit `package.json`, the same manager in the same version writes it in a",
        "set-up sandbox, without scripts ([how, and when it does not](../explanation/sandbox.md#how-an-environment-is-made)). The packages are",
        "then installed from it, and the failing command runs in fresh sandboxes. Nothing else is changed, and `package.json` never. The",
        "report lists the packages that are added, removed or changed.",
        "",
        "| `dependencies` in the [policy](policy.md) | the verified lock file |",
        "| --- | --- |",
        "| `ask`, the default | is a question to a person |",
        "| `fix` | is offered without asking, by default as a draft pull request, and never pushed |",
        "| `never` | is not proposed; a person is asked to write it |",
        "",
        "| manager | refused by | written by |",
        "| --- | --- | --- |",
    ]
    lines += [
        f"| {name} | `{install_words(node)}` | `{lock_words(node)}` |"
        for name, node in LOCKED.items()
    ]
    return [
        *lines,
        "",
        "The classic Yarn has no option for the lock file alone: it installs, too, in the sandbox that is thrown away. In the Action with",
        "`from-report`, a lock file is only reported. If the registry has newer versions since the question, the chosen file is refused, and",
        "the mission has to be started again.",
    ]
