"""Recognise commands of Node.js projects that make files for later commands."""

import re

from sandbox.guest.pytest_command import split_words
from sandbox.types.launchers import ASSIGNMENT, NODE_MANAGERS
from sandbox.types.monorepo import MONOREPO_TOOLS, split_monorepo

_NAME = r"(?:pre)?(?:build|compile|bundle|generate|codegen|transpile)"
# Tests do not use these, and they need more than the packages.
_ELSEWHERE = r"docs?|docu\w*|site|website|storybook|docker|image|release|ios|android|electron|e2e"
# What frameworks write before anything else can be loaded.
_PREPARES = r"(?:dev[:_-])?prepare|prepack|stub|typegen|gen"
_CHECKING = r"test\w*|lint|check|format|dev|start|watch|bench\w*|perf|examples?|preview|deploy"
_SCRIPT = re.compile(
    rf"(?:{_NAME}|{_PREPARES})(?:[:_-](?!(?:{_ELSEWHERE})\b).*)?"
    rf"|(?!(?:{_ELSEWHERE}|{_CHECKING})\b)\w[\w-]{{0,40}}:{_NAME}"
)
_OTHERWISE = re.compile(rf"(?:pre|post)?(?:{_ELSEWHERE}|{_CHECKING}|serve|version)\b")
_SCRIPT_FILE = re.compile(rf"(?:[\w.-]+/)*(?:es)?{_NAME}[\w.-]*\.[cm]?[jt]s")
_STARTERS = frozenset({"npx", "bunx", "pnpx", "cross-env", "cross-env-shell", "exec", "dlx"})
_COMPILERS = frozenset({"tsc", "tsgo", "vue-tsc"})
_BUILDERS = frozenset(
    {"tsup", "tsdown", "rollup", "rolldown", "webpack", "esbuild", "babel", "swc", "unbuild"}
    | {"obuild", "microbundle", "pkgroll", "bunchee", "tsc-alias", "ngc", "svelte-package"}
    | {
        "tshy",
        "zshy",
        "ng-packagr",
        "graphql-codegen",
        "copyfiles",
        "cpx",
        "cpx2",
        "cpy",
        "ncp",
        "shx",
        "rimraf",
        "del-cli",
    }
)
_COPIES = frozenset({"cp", "mv", "mkdir"})
_BUILDING = {
    **dict.fromkeys(("vite", "ncc", "parcel", "vue-cli-service", "gulp", "grunt"), ("build",)),
    **dict.fromkeys(("nuxt", "nuxi", "nuxt-module-build"), ("build", "prepare")),
    **dict.fromkeys(("next", "react-router"), ("build", "typegen")),
    **dict.fromkeys(("preconstruct", "rslib", "rsbuild", "rspack", "father", "bob"), ("build",)),
    "astro": ("build", "sync"),
    "prisma": ("generate",),
    "svelte-kit": ("sync",),
}
"""Programs that make files if their first argument is one of these words."""
BUILD_PROGRAMS = (*sorted(_COMPILERS | _BUILDERS), *_BUILDING)
"""Programs of Node.js packages that build."""
_NO_OUTPUT = frozenset(
    {"--noEmit", "--version", "-v", "--help", "-h", "--init", "--showConfig", "--listFilesOnly"}
    | {"--clean", "--watch", "-w"}
)


def is_build_script(name: str) -> bool:
    """Return True if a script of a `package.json` with this name makes files."""
    return _SCRIPT.fullmatch(name) is not None


def may_build(name: str) -> bool:
    """Return True unless the name of a script says that it does something else than building."""
    return bool(name) and _OTHERWISE.match(name) is None


def is_node_build(command: str) -> bool:
    """Return True if a command builds files: `npx tsc -p .`, `npm run build:lib`, `rollup -c`."""
    words = split_words(command) or command.split()
    while words and (words[0] in _STARTERS or ASSIGNMENT.fullmatch(words[0]) or words[0] == "--"):
        words = words[1:]
    if not words:
        return False
    program, rest = words[0].rpartition("/")[2], words[1:]
    plain = [word for word in rest if not word.startswith("-")]
    if program in NODE_MANAGERS:
        is_run = plain[:1] in (["run"], ["run-script"])
        # Other managers than npm start a script by its name alone.
        names = plain[1:] if is_run else plain if program != "npm" else []
        return bool(names) and is_build_script(names[0])
    if program in MONOREPO_TOOLS:
        tasks = split_monorepo([program, *rest]).tasks
        return bool(tasks) and all(map(is_build_script, tasks))
    if program == "node":
        return bool(plain) and _SCRIPT_FILE.fullmatch(plain[0].removeprefix("./")) is not None
    if not _NO_OUTPUT.isdisjoint(rest):
        return False
    return program in _COMPILERS | _BUILDERS or not set(plain[:1]).isdisjoint(
        _BUILDING.get(program, ())
    )


def makes_files(command: str) -> bool:
    """Return True if a command builds files, or copies them beside a build's."""
    return is_node_build(command) or next(iter(command.split()), "") in _COPIES
