"""Find the requirements of a repository's tests wherever the repository declares them."""

import ast
import re
from collections.abc import Collection, Iterator
from itertools import islice

from sandbox.recipe.declared import Project
from sandbox.recipe.fidelity import FidelityLog
from sandbox.recipe.files import CheckoutFiles, mapping, option_lines, section, words
from sandbox.recipe.requirements import Requirements, clean_line, distribution_name, normal_name
from sandbox.types.distributions import distribution_of

_TEST_FILE = re.compile(r"(?:.*/)?(?:test_[^/]*|[^/]*_test|tests|conftest)\.py")
_REQUIREMENT_FILE = re.compile(r".*\.(?:txt|in|pip)")
_MOST_FILES = 80
_MOST_BYTES = 2_000_000
"""Bytes of test files that are parsed; a megabyte takes about a second."""
_MOST_NODES = 20_000
_MOST_LINES = 1000
_PLUGIN = "pytest-"
_TYPES_ONLY = "types-"


def read_for_needs(names: Collection[str]) -> list[str]:
    """Return the test files and conftests to read: conftests and those near the top first."""
    found = [name for name in names if _TEST_FILE.fullmatch(name)]
    return sorted(
        found, key=lambda name: (not name.endswith("conftest.py"), name.count("/"), name)
    )[:_MOST_FILES]


def needs_of_tests(files: CheckoutFiles, project: Project, wanted: Requirements) -> Requirements:
    """Return declared requirements that tests import, and pytest's plugins among them.

    A requirement may be declared for another purpose (an extra, a group, an environment of tox,
    a session of nox, any requirements file). Modules that nothing declares are not guessed.

    Args:
        files: The checkout.
        project: Its project.
        wanted: Requirements that are installed in any case.
    """
    present = {distribution_name(line) for line in wanted.lines}
    declared = {
        name: line
        for line in _declared(files, project)
        if (name := distribution_name(line)) not in present and not name.startswith(_TYPES_ONLY)
    }
    if not declared:
        return Requirements()
    modules: set[str] = set()
    left = _MOST_BYTES
    for path in read_for_needs(files.contents.keys()):
        size = len(files.contents[path])
        if size <= left:
            left -= size
            modules |= _imports(files, path)
    names = {normal_name(distribution_of(module) or module) for module in modules}
    names |= {normal_name(module) for module in modules}
    lines = [line for name, line in declared.items() if name in names or name.startswith(_PLUGIN)]
    return Requirements(lines=tuple(lines))


def _declared(files: CheckoutFiles, project: Project) -> Iterator[str]:
    """Yield every requirement line of the repository without duplicates of a name."""
    seen: set[str] = set()
    raw = [line for extra in project.extras.values() for line in extra.lines]
    for line in islice((*raw, *_lines_of_tools(files), *_lines_of_files(files)), _MOST_LINES):
        clean = clean_line(line)
        if clean is not None and (name := distribution_name(clean)) not in seen:
            seen.add(name)
            yield clean


def _lines_of_tools(files: CheckoutFiles) -> Iterator[str]:
    """Yield the requirements of all environments of tox, nox and hatch."""
    tox = files.ini("tox.ini")
    for part in tox.sections()[:50]:
        # A factor in front of a line (`py311: attrs`) does not matter here.
        lines = option_lines(tox, part, "deps")
        yield from (re.sub(r"^[\w.,!{}-]+:\s+", "", line) for line in lines)
    toml, tox_toml = files.toml("pyproject.toml"), files.toml("tox.toml")
    for table in (tox_toml, section(toml, "tool", "tox")):
        yield from words(section(table, "env_run_base").get("deps"))
        for environment in list(section(table, "env").values())[:50]:
            yield from words(mapping(environment).get("deps"))
    for environment in list(section(toml, "tool", "hatch", "envs").values())[:50]:
        for key in ("dependencies", "extra-dependencies"):
            yield from words(mapping(environment).get(key))
    tree = files.python("noxfile.py")
    for node in islice(ast.walk(tree), _MOST_NODES) if tree is not None else ():
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "install":
            arguments = [item for item in node.args if isinstance(item, ast.Constant)]
            yield from (item.value for item in arguments if isinstance(item.value, str))


def _lines_of_files(files: CheckoutFiles) -> Iterator[str]:
    for path in sorted(files.contents):
        if _REQUIREMENT_FILE.fullmatch(path):
            lines = files.text(path).splitlines()[:_MOST_LINES]
            yield from (line.partition(" #")[0] for line in lines)


def _imports(files: CheckoutFiles, path: str) -> set[str]:
    """Return the modules that a test file imports, also by `pytest.importorskip`."""
    # A test file that does not parse is no fault of the recipe, so nothing is logged.
    tree = CheckoutFiles({path: files.contents[path]}, None, FidelityLog()).python(path)
    found: set[str] = set()
    for node in islice(ast.walk(tree), _MOST_NODES) if tree is not None else ():
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in {"importorskip", "import_module"} and isinstance(node.args[0].value, str):
                found.add(node.args[0].value)
    return {part for module in found for part in (module, module.split(".")[0])}
