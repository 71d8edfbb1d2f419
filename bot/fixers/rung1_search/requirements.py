"""Find the distribution of an undeclared module and the place to add it.

The result is only proposed to a person, never applied.
"""

import re
import sys

from bot.fixers.rung1_search.changes import read_text
from bot.fixers.rung1_search.declared import LOCKS, declared_in, is_declaring, normal
from bot.fixers.rung1_search.requirement_places import PlacedRequirement, place_requirement
from bot.ports import Workspace
from sandbox.changes import protected_class
from sandbox.types import Frozen, TestReport
from sandbox.types.distributions import distribution_of

MAX_FILES = 40
_MISSING = re.compile(r"No module named ['\"]([A-Za-z_][\w.]{0,100})['\"]")


class MissingRequirement(Frozen):
    """A module that could not be imported, and the proposed requirement."""

    module: str
    distribution: str = ""
    """Empty if the distribution is unknown."""
    known_from: str = ""
    """Source of the name: our own table, or a file of the repository."""
    placed: PlacedRequirement | None = None
    """The proposed place; None if there is none."""
    declared_by: str = ""
    """File that declares it already. Then the environment is at fault, not the declaration."""

    @property
    def sentence(self) -> str:
        """Describe the problem and the proposal to a person."""
        if self.declared_by:
            return (
                f"`{self.module}` cannot be imported although {self.declared_by} "
                f"declares {self.distribution}"
            )
        if not self.distribution:
            return (
                f"no file declares a distribution that provides the module `{self.module}`, "
                "and its name is unknown: a guessed name may belong to an unrelated package"
            )
        if self.placed is None:
            return (
                f"no file declares {self.distribution}, "
                f"which provides `{self.module}` ({self.known_from})"
            )
        kind = protected_class(self.placed.path) or "dependencies"
        return (
            f"no file declares {self.distribution}, "
            f"which provides `{self.module}` ({self.known_from}). Add "
            f"`{self.placed.line}` to {self.placed.where} in {self.placed.path}? "
            f"MetaAgent did not: that file is protected "
            f"({kind}). The requirement is untested: it was not looked up in an index, "
            "and the environment was not rebuilt"
        )


async def missing_requirement(
    report: TestReport, workspace: Workspace
) -> MissingRequirement | None:
    """Return the first module that failing tests cannot import, with a proposal, or None.

    Args:
        report: The red run.
        workspace: On the failing tree; read only.
    """
    module, importer = _missing_module(report)
    if not module:
        return None
    files = await workspace.list_files()
    top = module.split(".")[0]
    # A missing module of the project itself is no missing dependency.
    if top in sys.stdlib_module_names or _is_own(top, files):
        return None
    declaring = sorted(path for path in files if is_declaring(path))[:MAX_FILES]
    texts = {path: text for path in declaring if (text := await read_text(workspace, path))}
    return decide(module, importer, texts)


def decide(module: str, importer: str, texts: dict[str, str]) -> MissingRequirement:
    """Choose the distribution from our own table or the repository's files, and its place.

    Args:
        module: The imported module.
        importer: The file that imports it.
        texts: Text of every file that may declare distributions, by path.
    """
    declared = {path: declared_in(path, text) for path, text in texts.items()}
    known = distribution_of(module)
    name = known or module.split(".", maxsplit=1)[0]
    elsewhere = [path for path in declared if normal(name) in declared[path]]
    # Lock and constraint files pin versions but declare nothing.
    binding = [
        path
        for path in elsewhere
        if not path.rsplit("/", 1)[-1].startswith((*LOCKS, "constraints"))
    ]
    if binding:
        placed_for_tests = all(_is_for_tests(path) for path in binding)
        # A declaration for tests does not serve the program itself.
        if not placed_for_tests or _is_test(importer):
            return MissingRequirement(module=module, distribution=name, declared_by=binding[0])
    if known is None and not elsewhere:
        return MissingRequirement(module=module)
    source = f"{elsewhere[0]} names it" if elsewhere else "a well-known module"
    line = next((declared[path][normal(name)] for path in binding), name)
    placed = place_requirement(
        texts, line if normal(line).startswith(normal(name)) else name, tests=_is_test(importer)
    )
    return MissingRequirement(module=module, distribution=name, known_from=source, placed=placed)


def _missing_module(report: TestReport) -> tuple[str, str]:
    """Return the missing module and the file that imports it."""
    for failure in report.failures:
        if failure.error not in {"ModuleNotFoundError", "ImportError", None}:
            continue
        match = _MISSING.search(failure.error_message or "")
        if match:
            deepest = failure.frames[-1][0] if failure.frames else failure.file or ""
            return match[1], deepest or failure.name.split("::")[0]
    return "", ""


def _is_own(top: str, files: tuple[str, ...]) -> bool:
    """Return True if the checkout has a module of this name."""
    return any(
        re.fullmatch(rf"(?:[\w.-]+/){{0,2}}{re.escape(top)}(?:\.pyi?|/.+\.pyi?)", path)
        for path in files
    )


def _is_test(path: str) -> bool:
    return protected_class(path) in {"tests", "test-config"}


def _is_for_tests(path: str) -> bool:
    return (
        re.search(r"(?:test|dev|lint|docs?|ci)[\w-]*\.(?:txt|in)$|/(?:test|dev)", path) is not None
    )
