"""The known checks of Node.js packages, and the kinds of scripts by their names."""

import re
from collections.abc import Iterable
from itertools import pairwise

from sandbox.runners.builds import is_build_script
from sandbox.types import StepKind

NODE_CHECKS = {
    **dict.fromkeys(
        ("vitest", "jest", "mocha", "_mocha", "ava", "tap", "tape", "uvu", "c8", "nyc"),
        StepKind.TEST,
    ),
    **dict.fromkeys(("borp", "jasmine", "lab", "qunit"), StepKind.TEST),
    **dict.fromkeys(("eslint", "biome", "oxlint", "stylelint", "standard", "xo"), StepKind.LINT),
    **dict.fromkeys(("markdownlint", "markdownlint-cli2"), StepKind.LINT),
    **dict.fromkeys(("commitlint", "cspell", "depcheck", "knip"), StepKind.LINT),
    **dict.fromkeys(("gts lint", "publint", "sherif", "ts-prune"), StepKind.LINT),
    **dict.fromkeys(("prettier", "oxfmt", "dprint"), StepKind.FORMAT),
    **dict.fromkeys(("tsc", "vue-tsc", "tsd", "svelte-check", "astro check"), StepKind.TYPES),
    **dict.fromkeys(("tsgo", "tstyche", "dtslint"), StepKind.TYPES),
}
"""Programs of Node.js packages, or their sub-commands. `npx` finds each of them."""
_GUESSES = (
    (re.compile(r"lint"), StepKind.LINT),
    (re.compile(r"format(?!ion)"), StepKind.FORMAT),
    (re.compile(r"(?<!proto)type(?!doc)"), StepKind.TYPES),
    (re.compile(r"(?<!a)(?<!at)(?<!con)(?<!fas)(?<!pro)test"), StepKind.TEST),
)
"""Words in the name of a step or script: `latest`, `typedoc` and `information` are none."""
_TASK = re.compile(r"(?:^|[\s:-])(?:unit|units|spec|specs|e2e|check|checks|verify)(?![\w-])")
_SCRIPT_VALUED = frozenset(
    {"--filter", "-F", "--dir", "-C", "--cwd", "--include", "--exclude", "--from", "-j", "--jobs"}
)
"""Options of pnpm, yarn and bun with a value, which may stand before the name of a script."""


def guess_kind(name: str) -> StepKind:
    """Return the kind that a name suggests."""
    lowered = name.lower()
    return next((kind for word, kind in _GUESSES if word.search(lowered)), StepKind.OTHER)


def guess_task_kind(tasks: Iterable[str]) -> StepKind:
    """Return the kind of a workspace's tasks: that of their names, or tests for usual ones."""
    names = " ".join(tasks)
    found = guess_kind(names)
    is_usual = found is StepKind.OTHER and _TASK.search(names) is not None
    return StepKind.TEST if is_usual else found


def classify_script(words: list[str], step_name: str | None) -> StepKind:
    """Classify `npm test`, `pnpm lint`, `yarn workspace a run test` by the script's name."""
    plain = _script_words(words)
    if plain[:1] in (["test"], ["t"]):
        return StepKind.TEST
    is_run = plain[:1] in (["run"], ["run-script"])
    name = next(iter(plain[1:] if is_run else plain if words[0] != "npm" else []), "")
    if not name or is_build_script(name):
        return StepKind.OTHER
    if name in NODE_CHECKS and words[0] != "npm":
        return NODE_CHECKS[name]
    found = guess_kind(name)
    return guess_kind(step_name or "") if found is StepKind.OTHER and is_run else found


def _script_words(words: list[str]) -> list[str]:
    """Return a manager's words without options, and without the packages that it selects."""
    plain: list[str] = []
    valued = frozenset[str]() if words[0] == "npm" else _SCRIPT_VALUED
    for before, word in pairwise(words):
        if not word.startswith("-") and before not in valued:
            plain.append(word)
    if plain[:1] == ["workspace"]:
        return plain[2:]
    return [word for word in plain if word not in {"workspaces", "foreach"}]
