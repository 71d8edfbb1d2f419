"""Decide which commands of a job make files for the failing command."""

import re

from sandbox.recipe.command import classify_command, split_command
from sandbox.recipe.files import CheckoutFiles
from sandbox.recipe.job import ToolCommand
from sandbox.types import StepKind

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
"""Scripts of a `package.json` that make files for later commands."""


def _program(command: ToolCommand) -> list[str]:
    words = split_command(command.command)
    while words and re.fullmatch(r"[A-Za-z_]\w*=.*", words[0], re.DOTALL):
        words = words[1:]
    return words


def is_file_work(command: ToolCommand) -> bool:
    """Return True if a command only copies, makes, unpacks or removes files."""
    words = _program(command)
    return bool(words) and words[0] in _FILE_TOOLS | _UNPACKERS | _REMOVERS


def prepares(command: ToolCommand, files: CheckoutFiles) -> bool:
    """Return True if a command creates files for later commands, and needs no network."""
    words = _program(command)
    if (
        not words
        or classify_command(command.command) is not StepKind.OTHER
        or "${{" in command.command
    ):
        return False
    if any(re.match(r"(?:\./)?\.?venv/", word) for word in words[1:]):
        return False  # the recipe has its own environment
    if words[0] in _UNPACKERS:
        return any(files.is_file(word) for word in words[1:])
    if words[0] in _FILE_TOOLS | _GENERATORS:
        return all(
            not word.startswith(("/", "~"))
            for word in words[1:]
            if not word.startswith("/tmp")  # noqa: S108
        )
    if words[0] != "python":
        is_build = words[:2] == ["npm", "run"] and not BUILDS.isdisjoint(words[2:3])
        is_own = words[0].startswith("./") and not words[0].endswith((".sh", "manage.py"))
        return is_build or is_own
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


def needs_node(command: ToolCommand) -> bool:
    """Return True if a preparing command runs on Node.js."""
    return _program(command)[:1] == ["npm"]


def line_needs_node(line: str) -> bool:
    """Return True if a recipe's preparing line runs on Node.js."""
    return "npm" in split_command(line)
