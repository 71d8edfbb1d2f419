"""Plan the Go part of a recipe, and the files of the checkout that name its modules."""

import re
from collections.abc import Collection, Mapping, Sequence
from posixpath import dirname, join, normpath

from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import CheckoutFiles, beside, inside
from sandbox.recipe.go_versions import go_of_project
from sandbox.recipe.relevant import FOREIGN
from sandbox.runners.steps import split_steps
from sandbox.setup.go.directives import read_entries, read_names
from sandbox.setup.go.layout import GO_FILES
from sandbox.types import GoPart, Recipe

_RUNS = re.compile(
    r"(?<![\w./-])(?:go\s+(?:build|fix|fmt|generate|list|run|test|tool|vet)|gofmt)(?![\w-])"
)
_COMPILES = re.compile(r"(?<![\w./-])go\s+(?!fmt(?![\w-]))")
"""`gofmt` and `go fmt` read files one by one, without the modules that they import."""
_MOST_FILES = 200
_NAMES = ("go.mod", "go.sum", "go.work", "go.work.sum")


def needs_go(command: str) -> bool:
    """Return True if a command line runs Go."""
    return _RUNS.search(command) is not None


def plan_go(
    files: CheckoutFiles, lines: Sequence[str], folder: str, version: str | None
) -> GoPart | None:
    """Return the Go part of a recipe; None if none of its command lines runs Go.

    Args:
        files: The checkout.
        lines: The command lines of the recipe, each of which starts in the same folder.
        folder: This folder.
        version: The job's Go; None takes the project's.
    """
    command = "\n".join(lines)
    if not needs_go(command):
        return None
    steps = [step for line in lines for step in split_steps(line) or ()]
    places = [normpath(join(folder, step.folder)) for step in steps if needs_go(step.command)]
    folders = tuple(dict.fromkeys(_module_of(files, place) for place in places or [folder]))
    compiles = _COMPILES.search(command) is not None
    missing = tuple(one for one in folders if compiles and needed_modules(files, one))
    return GoPart(
        version=go_of_project(files, folders[0], version),
        modules=missing,
        race=re.search(r"\s-race(?:\s|$)", command) is not None,
    )


def _module_of(files: CheckoutFiles, folder: str) -> str:
    """Return the folder of the workspace or module that contains a folder."""
    place = folder
    found = ""
    while True:
        if files.is_file(beside(place, "go.work")):
            return place
        if not found and files.is_file(beside(place, "go.mod")):
            found = place
        if place == ".":
            return found or folder
        place = dirname(place) or "."


def needed_modules(files: CheckoutFiles, folder: str) -> tuple[str, ...]:
    """Return the modules that a module or workspace requires and the checkout does not contain."""
    if files.is_file(beside(folder, "vendor/modules.txt")):
        return ()
    work = files.text(beside(folder, "go.work"))
    members = [
        place
        for used in read_entries(work, "use")
        if (place := inside(folder, used.strip('"'))) is not None
    ]
    texts = [files.text(beside(place, "go.mod")) for place in members or [folder]]
    own = {name for text in texts for name in read_names(text, "module")}
    needed = [name for text in texts for name in read_names(text, "require")]
    local = {
        line.split()[0]
        for text in (*texts, work)
        for line in read_entries(text, "replace")
        if line.partition("=>")[2].strip().startswith((".", "/"))
    }
    return tuple(name for name in dict.fromkeys(needed) if name not in local | own)


def go_files(
    recipe: Recipe, names: Collection[str], contents: Mapping[str, bytes]
) -> dict[str, str]:
    """Return the files that name the modules to download. They are part of the environment's key.

    They contain no code: Go reads them as data.
    """
    if recipe.go is None or not recipe.go.modules:
        return {}
    files = CheckoutFiles(contents, names, FidelityLog())
    paths = [path for path in sorted(contents) if path.rsplit("/", 1)[-1] in _NAMES]
    kept = [path for path in paths if not FOREIGN.match(path)][:_MOST_FILES]
    return {f"{GO_FILES}{path}": files.text(path) for path in kept}
