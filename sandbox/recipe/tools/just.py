"""Read `just test`: a justfile's recipes with dependencies, plain variables and parameters."""

import re
from dataclasses import dataclass, field

from sandbox.recipe.files import beside, inside
from sandbox.recipe.job import ToolReading
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import ToolContext, read_options, substitute

_NAMES = ("justfile", "Justfile", ".justfile", "JUSTFILE")
_VALUED = frozenset(
    {"-f", "--justfile", "-d", "--working-directory", "--set", "--shell", "--dotenv-path", "-E"}
)
_HEAD = re.compile(
    r"@?([A-Za-z_][\w-]{0,80})((?:\s+[+*$]*[A-Za-z_][\w-]*(?:=(?:\"[^\"]*\"|'[^']*'"
    r"|[\w./-]+))?){0,20})\s*:(?!=)\s*(.*)"
)
_PARAMETER = re.compile(r"([+*]?)\$?([A-Za-z_][\w-]*)(?:=(?:\"([^\"]*)\"|'([^']*)'|([\w./-]+)))?")
_ASSIGNMENT = re.compile(r"(export\s+)?([A-Za-z_][\w-]{0,80})\s*:=\s*(.*)")
_INNER = re.compile(r"\{\{([^{}]{1,200})\}\}")
_MOST_LINES = 5000


@dataclass
class _Recipe:
    parameters: list[tuple[str, str, str | None]] = field(default_factory=list)
    """Sign, name, default."""
    needs: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


@dataclass
class _Justfile:
    recipes: dict[str, _Recipe] = field(default_factory=dict)
    variables: dict[str, str] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    aliases: dict[str, str] = field(default_factory=dict)
    first: str = ""


def read(call: Call, context: ToolContext) -> ToolReading | None:
    """Read one call of just."""
    options = read_options(call.words[1:], _VALUED, stop=True)
    if options.has("-l", "--list", "--summary", "--version", "--evaluate", "--fmt"):
        return ToolReading()
    named = options.values("-f", "--justfile")[-1:]
    path = inside(call.folder, named[0]) if named else None
    path = path or next(
        (beside(call.folder, n) for n in _NAMES if context.files.is_file(beside(call.folder, n))),
        "justfile",
    )
    text = context.files.text(path)
    if not text:
        context.log.dropped(call.line(), "there is no readable justfile")
        return None
    justfile = _parse(text)
    words = list(options.rest)
    while words and re.fullmatch(r"[\w-]+=.*", words[0], re.DOTALL):
        name, _, value = words.pop(0).partition("=")
        justfile.variables[name] = value
    words = words or [justfile.first]
    if words[0] not in justfile.recipes and words[0] not in justfile.aliases:
        context.log.dropped(call.line(), f"{path} has no such recipe")
        return None
    context.log.replaced(call.line(), f"the commands of {words[0]} in {path} are run")
    reading = ToolReading()
    run = _Run(justfile, context, path.rpartition("/")[0] or ".")
    while words:
        name = words.pop(0)
        recipe = justfile.recipes.get(justfile.aliases.get(name, name))
        if recipe is None:
            continue
        # a recipe takes as many following words as it has parameters
        takes = (
            len(words) if any(sign for sign, _, _ in recipe.parameters) else len(recipe.parameters)
        )
        given, words = words[:takes], words[takes:]
        reading = reading.plus(run.recipe(name, given))
    return reading


def _parse(text: str) -> _Justfile:
    justfile = _Justfile()
    current: _Recipe | None = None
    for line in re.sub(r"\\\r?\n[ \t]*", " ", text).splitlines()[:_MOST_LINES]:
        if line[:1] in {" ", "\t"}:
            if current is not None and line.strip():
                current.lines.append(line.strip())
            continue
        plain = line.strip()
        if not plain or plain.startswith(("#", "[", "set ", "import", "mod ")):
            continue
        if (alias := re.fullmatch(r"alias\s+([\w-]+)\s*:=\s*([\w-]+)", plain)) is not None:
            justfile.aliases[alias[1]] = alias[2]
        elif (assignment := _ASSIGNMENT.fullmatch(plain)) is not None:
            justfile.variables[assignment[2]] = _value(assignment[3], justfile.variables)
            if assignment[1]:
                justfile.exported.add(assignment[2])
        elif len(plain) < 1000 and (head := _HEAD.fullmatch(plain)) is not None:  # noqa: PLR2004
            current = _recipe(head)
            justfile.recipes[head[1]] = current
            justfile.first = justfile.first or head[1]
    return justfile


def _recipe(head: re.Match[str]) -> _Recipe:
    parameters = [
        (found[1], found[2], next((part for part in found.groups()[2:] if part is not None), None))
        for found in _PARAMETER.finditer(head[2])
    ]
    before, _, after = head[3].partition("#")[0].partition("&&")
    return _Recipe(
        parameters,
        re.findall(r"[A-Za-z_][\w-]*", re.sub(r"\(([\w-]+)[^)]*\)", r"\1", before))[:30],
        re.findall(r"[A-Za-z_][\w-]*", after)[:30],
    )


def _value(text: str, variables: dict[str, str]) -> str:
    plain = text.strip()[:1000]
    if (found := re.fullmatch(r"'([^']*)'|\"([^\"]*)\"", plain)) is not None:
        return found[1] if found[1] is not None else found[2]
    if (
        found := re.fullmatch(
            r"env(?:_var_or_default)?\(\s*['\"][^'\"]*['\"]\s*,\s*['\"]([^'\"]*)['\"]\s*\)", plain
        )
    ) is not None:
        return found[1]
    if (found := re.fullmatch(r"`([^`]*)`", plain)) is not None:
        return f"$({found[1]})"
    return variables.get(plain, "")


@dataclass
class _Run:
    justfile: _Justfile
    context: ToolContext
    folder: str
    seen: set[str] = field(default_factory=set)

    def recipe(self, name: str, given: list[str], depth: int = 0) -> ToolReading:
        """Return the commands of a recipe, after its dependencies; each once."""
        name = self.justfile.aliases.get(name, name)
        recipe = self.justfile.recipes.get(name)
        if recipe is None or name in self.seen or depth > 20:  # noqa: PLR2004 (a circle)
            return ToolReading()
        self.seen.add(name)
        reading = ToolReading()
        for needed in recipe.needs:
            reading = reading.plus(self.recipe(needed, [], depth + 1))
        names = {**self.justfile.variables, **_bind_parameters(recipe, given)}
        exported = {
            key: self.justfile.variables[key]
            for key in self.justfile.exported
            if key in self.justfile.variables
        }
        script = [
            substitute(_INNER, lambda found: _evaluate(found[1].strip(), names), line)
            for line in recipe.lines
        ]
        if script[:1] and script[0].startswith("#!"):
            reading = reading.plus(self._with_interpreter(name, script, exported))
        else:
            lines = [_tolerant(line) for line in script]
            reading = reading.plus(self.context.scripts(lines, self.folder, exported))
        for needed in recipe.after:
            reading = reading.plus(self.recipe(needed, [], depth + 1))
        return reading

    def _with_interpreter(
        self, name: str, script: list[str], exported: dict[str, str]
    ) -> ToolReading:
        if re.search(r"\b(?:ba|z|da)?sh\b", script[0]):
            return self.context.script("\n".join(script[1:]), self.folder, exported)
        self.context.log.dropped(f"just {name}", "its recipe is a program in another language")
        return ToolReading(
            obstacles=(
                f"the recipe {name} of the justfile is a program, and not a list of commands",
            )
        )


def _tolerant(line: str) -> str:
    """Strip a line's prefixes; after `-` its failure does not count."""
    plain = re.sub(r"^[@-]+\s*", "", line)
    return f"{plain} || true" if "-" in line[: len(line) - len(plain)] else plain


def _bind_parameters(recipe: _Recipe, given: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    left = list(given)
    for sign, name, default in recipe.parameters:
        if sign:
            found[name] = " ".join(left) or (default or "")
            left = []
        else:
            found[name] = left.pop(0) if left else (default or "")
    return found


def _evaluate(expression: str, names: dict[str, str]) -> str:
    if expression in names:
        return names[expression]
    if expression in {"justfile_directory()", "invocation_directory()"}:
        return "."
    return _value(expression, names)
