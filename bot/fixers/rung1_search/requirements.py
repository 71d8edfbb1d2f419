"""A module that no file declares: which distribution to add where. Only ever proposed to a person, never done."""

import re
import sys

from bot.fixers.rung1_search.changes import text_of
from bot.fixers.rung1_search.declared import LOCKS, declared_in, is_declaring, normal
from bot.fixers.rung1_search.import_names import distribution_of
from bot.fixers.rung1_search.requirement_places import Placed, place_requirement
from bot.ports import Workspace
from sandbox.changes import protected_class
from sandbox.types import Frozen, TestReport

MAX_FILES = 40
_MISSING = re.compile(r"No module named ['\"]([A-Za-z_][\w.]{0,100})['\"]")


class Missing(Frozen):
    """A module that could not be imported, and what may be done about it."""

    module: str
    distribution: str = ""
    """Empty when none may be named."""
    known_from: str = ""
    """Why this distribution: our own table, or the file that names it."""
    placed: Placed | None = None
    """Where it would be declared."""
    declared_by: str = ""
    """The file that declares it already: then the environment, and not the declaration, lacks it."""

    @property
    def sentence(self) -> str:
        """What a person is told."""
        if self.declared_by:
            return f"`{self.module}` cannot be imported although {self.declared_by} declares {self.distribution}"
        if not self.distribution:
            return (
                f"no file declares what provides the module `{self.module}`, and which distribution that is cannot be "
                "known: a guessed name may be somebody else's package"
            )
        if self.placed is None:
            return f"no file declares {self.distribution}, which provides `{self.module}` ({self.known_from})"
        kind = protected_class(self.placed.path) or "dependencies"
        return (
            f"no file declares {self.distribution}, which provides `{self.module}` ({self.known_from}). Add "
            f"`{self.placed.line}` to {self.placed.where} in {self.placed.path}? Not done: that file is protected "
            f"({kind}), and it was not tried: no index was asked whether it exists, and the environment was not rebuilt"
        )


async def missing_requirement(report: TestReport, workspace: Workspace) -> Missing | None:
    """What is to be declared for the first module that failing tests miss; None when they miss none.

    Args:
        report: The red run.
        workspace: On the failing tree; only read.
    """
    module, importer = _missing_module(report)
    if not module:
        return None
    files = await workspace.list_files()
    top = module.split(".")[0]
    if top in sys.stdlib_module_names or _is_own(top, files):
        return None
    declaring = sorted(path for path in files if is_declaring(path))[:MAX_FILES]
    texts = {path: text for path in declaring if (text := await text_of(workspace, path))}
    return decide(module, importer, texts)


def decide(module: str, importer: str, texts: dict[str, str]) -> Missing:
    """Which distribution, from our own table or from what the repository itself names, and where it belongs.

    Args:
        module: As it was imported.
        importer: The file that imports it.
        texts: Path to text of every file that may declare distributions.
    """
    declared = {path: declared_in(path, text) for path, text in texts.items()}
    known = distribution_of(module)
    name = known or module.split(".", maxsplit=1)[0]
    elsewhere = [path for path in declared if normal(name) in declared[path]]
    binding = [path for path in elsewhere if not path.rsplit("/", 1)[-1].startswith((*LOCKS, "constraints"))]
    if binding:
        placed_for_tests = all(_is_for_tests(path) for path in binding)
        if not placed_for_tests or _is_test(importer):
            return Missing(module=module, distribution=name, declared_by=binding[0])
    if known is None and not elsewhere:
        return Missing(module=module)
    source = f"{elsewhere[0]} names it" if elsewhere else "a well-known module"
    line = next((declared[path][normal(name)] for path in binding), name)
    placed = place_requirement(texts, line if normal(line).startswith(normal(name)) else name, tests=_is_test(importer))
    return Missing(module=module, distribution=name, known_from=source, placed=placed)


def _missing_module(report: TestReport) -> tuple[str, str]:
    """The module, and the file that imports it."""
    for failure in report.failures:
        if failure.error not in {"ModuleNotFoundError", "ImportError", None}:
            continue
        match = _MISSING.search(failure.error_message or "")
        if match:
            deepest = failure.frames[-1][0] if failure.frames else failure.file or ""
            return match[1], deepest or failure.name.split("::")[0]
    return "", ""


def _is_own(top: str, files: tuple[str, ...]) -> bool:
    """Whether the checkout itself has a module of this name."""
    return any(re.fullmatch(rf"(?:[\w.-]+/){{0,2}}{re.escape(top)}(?:\.pyi?|/.+\.pyi?)", path) for path in files)


def _is_test(path: str) -> bool:
    return protected_class(path) in {"tests", "test-config"}


def _is_for_tests(path: str) -> bool:
    return re.search(r"(?:test|dev|lint|docs?|ci)[\w-]*\.(?:txt|in)$|/(?:test|dev)", path) is not None
