"""Decide which commands of a job make files for the failing command."""

import re
from collections.abc import Iterable
from itertools import pairwise

from sandbox.changes.syntax import is_python
from sandbox.recipe.command import classify_command, split_command
from sandbox.recipe.files import CheckoutFiles, beside, inside, mapping
from sandbox.recipe.job import ToolCommand
from sandbox.runners.builds import is_node_build, may_build
from sandbox.types import Fidelity, Recipe, StepKind
from sandbox.types.launchers import ASSIGNMENT

_FILE_TOOLS = frozenset(
    {
        "cp",
        "mv",
        "mkdir",
        "touch",
        "echo",
        "printf",
        "cat",
        "sed",
        "ln",
        "chmod",
        "install",
        "patch",
    }
    | {"awk", "envsubst", "tee", "tr", "truncate", "sort"}
)
_PRINTERS = frozenset({"echo", "printf", "cat"})
_PROGRAM_OPTIONS = frozenset({"-e", "--expression"})
_UNPACKERS = frozenset({"tar", "unzip", "gunzip", "xz"})
_REMOVERS = frozenset({"rm", "rmdir"})
_GENERATORS = frozenset(
    {
        "protoc",
        "cython",
        "cythonize",
        "pybabel",
        "msgfmt",
        "flex",
        "bison",
        "swig",
        "gcc",
        "g++",
        "cc",
        "clang",
        "cmake",
    }
    | {"ninja", "meson", "django-admin", "alembic", "flatc", "capnp", "pyside6-uic", "pyrcc5"}
)
_PREPARING = frozenset(
    {"migrate", "makemigrations", "compilemessages", "collectstatic", "compilejsi18n", "loaddata"}
)
BUILDS = frozenset({"build", "compile", "generate", "codegen", "build:all"})
"""Scripts of a `package.json` that are run as they are, because all of their parts make files."""
TOLERATED = " || true"
"""End of a preparing command that may fail."""
_NO_EMIT = re.compile(r'"noEmit"\s*:\s*true')
_REMOVING = re.compile(r"(?:npx )?(?:rimraf|del-cli|shx rm)\b")
_PACKS = re.compile(r"\b(?:npm|pnpm|yarn|bun)(?: run| pm)? pack\b")
_MOST_SHOWN = 200
_REPEATED_FILE_TOOLS = frozenset({"cp", "mv"})


def _program(line: str) -> list[str]:
    words = split_command(line)
    while words and ASSIGNMENT.fullmatch(words[0]):
        words = words[1:]
    return words


def is_file_work(command: ToolCommand) -> bool:
    """Return True if a command only copies, makes, unpacks or removes files."""
    words = _program(command.command)
    return bool(words) and words[0] in _FILE_TOOLS | _UNPACKERS | _REMOVERS


def prepares(command: ToolCommand, files: CheckoutFiles) -> bool:
    """Return True if a command creates files for later commands, and needs no network."""
    words = _program(command.command)
    if not words or "${{" in command.command:
        return False
    if is_node_build(command.command):
        return not _only_checks_types(words, command.working_directory, files)
    if packs(command):
        return "--dry-run" not in words
    if (script := _script_of(words, command.working_directory, files)) is not None:
        parts = [part.strip() for part in script.split("&&")]
        return any(is_node_build(part) and not _REMOVING.match(part) for part in parts)
    return classify_command(command.command) is StepKind.OTHER and _makes_files(words, files)


def _script_of(words: list[str], folder: str, files: CheckoutFiles) -> str | None:
    """Return the text of a script that may build (`npm run prepublishOnly`); None for another."""
    name = words[2] if words[:2] == ["npm", "run"] and words[2:] else ""
    if not may_build(name) or classify_command(f"npm run {name}") is not StepKind.OTHER:
        return None
    scripts = mapping(files.json(beside(folder, "package.json")).get("scripts"))
    found = scripts.get(name)
    return found if isinstance(found, str) else None


def _only_checks_types(words: list[str], folder: str, files: CheckoutFiles) -> bool:
    """Return True if the settings of TypeScript say that `tsc` writes nothing."""
    words = words[1:] if words[:1] == ["npx"] else words
    if words[:1] != ["tsc"] or not {"-b", "--build"}.isdisjoint(words):
        return False
    project = next((own for word, own in pairwise(words) if word in {"-p", "--project"}), ".")
    path = inside(folder, project) or "."
    path = path if path.endswith(".json") else beside(path, "tsconfig.json")
    return _NO_EMIT.search(files.text(path)) is not None


def _makes_files(words: list[str], files: CheckoutFiles) -> bool:
    if any(re.match(r"(?:\./)?\.?venv/", word) for word in words[1:]):
        return False  # the recipe has its own environment
    if words[0] in _PRINTERS and "|" in words:
        return _makes_files(words[words.index("|") + 1 :] or [""], files)
    if words[0] in _UNPACKERS:
        return any(files.is_file(word) for word in words[1:])
    if words[0] in _FILE_TOOLS | _GENERATORS:
        return all(
            not word.startswith(("/", "~"))
            for word in _without_program(words)
            if not word.startswith("/tmp")  # noqa: S108
        )
    if words[0] != "python":
        return words[0].startswith("./") and not words[0].endswith((".sh", "manage.py"))
    if words[1:2] == ["setup.py"] or _PREPARING & set(words):
        return "--check" not in words and "--dry-run" not in words
    named = next((word for word in words[1:] if not word.startswith("-")), "")
    if words[1:2] == ["-m"]:
        return named in {
            "grpc_tools.protoc",
            "grpc.tools.protoc",
            "cython",
            "babel",
            "Cython",
            "compileall",
        }
    return named.endswith(".py") and "manage.py" not in named


def packs(command: ToolCommand) -> bool:
    """Return True if a command writes the archive of a package."""
    return _PACKS.search(command.command) is not None


def _without_program(words: list[str]) -> list[str]:
    """Return the arguments of a file tool without the program of `sed` and `awk`.

    Such a program may start with a slash: `sed -i /test/d setup.cfg`.
    """
    if words[0] not in {"sed", "awk"}:
        return words[1:]
    programs = [own for word, own in pairwise(words) if word in _PROGRAM_OPTIONS]
    if not programs and not _PROGRAM_OPTIONS & set(words):
        programs = [word for word in words[1:] if not word.startswith("-")][:1]
    return [word for word in words[1:] if word not in programs]


def line_needs_node(line: str) -> bool:
    """Return True if a preparing command runs on Node.js."""
    return any(_program(part)[:1] in (["npm"], ["npx"], ["node"]) for part in line.split(" && "))


def repeated_lines(prepare: Iterable[str], edited: Iterable[str] | None) -> tuple[str, ...]:
    """Return the preparing lines to run again after an edit.

    Commands that only work on files are not repeated, because most may only run once (`mkdir`,
    `patch`, `echo >>`). Copies of what a build made are, and may fail. An edit of Python modules
    alone repeats nothing.

    Args:
        prepare: The preparing lines of the recipe.
        edited: The edited paths; None for an unknown number of them.
    """
    if edited is not None and all(is_python(path) for path in edited):
        return ()
    lines = []
    for line in prepare:
        program = next(iter(_program(line.rpartition(" && ")[2])), "")
        if program in _REPEATED_FILE_TOOLS:
            lines.append(f"{line}{TOLERATED}")
        elif program not in _FILE_TOOLS | _UNPACKERS | _REMOVERS:
            lines.append(line)
    return tuple(lines)


def leave_out(recipe: Recipe, line: str, reason: str) -> Recipe:
    """Return a recipe without one of its preparing lines; its log gives the reason."""
    shown = (one for one in recipe.fidelity if not (one.step and line.endswith(one.step)))
    dropped = Fidelity(step=line[:_MOST_SHOWN], treatment="dropped", reason=reason)
    return recipe.with_(
        prepare=tuple(one for one in recipe.prepare if one != line),
        may_fail=tuple(one for one in recipe.may_fail if one != line),
        fidelity=(*shown, dropped),
    )
