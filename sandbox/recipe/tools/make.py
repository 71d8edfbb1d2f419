"""Read `make test`: the requested targets' recipes with prerequisites and plain variables."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from sandbox.recipe.files import beside, inside
from sandbox.recipe.job import ToolReading
from sandbox.recipe.shell.walk import Call
from sandbox.recipe.tools.base import ToolContext, read_options, substitute

_NAMES = ("GNUmakefile", "makefile", "Makefile")
_VALUED = frozenset({"-C", "--directory", "-f", "--file", "--makefile", "-I", "-o", "-W"})
_ASSIGNMENT = re.compile(r"(?:export\s+|override\s+)*([\w.-]{1,80})\s*(\?=|::?=|\+=|!=|=)\s?(.*)")
_RULE = re.compile(r"([^\t:=#][^:=#]{0,300}?)\s*::?(?!=)\s*([^;#=]{0,2000})(?:;(.*))?(?:#.*)?")
_QUOTED_SIDES = re.compile(r"""(["'])([^"']*)\1[ \t]*(["'])([^"']*)\3""")
_DIRECTIVE = re.compile(
    r"\s*(ifeq|ifneq|ifdef|ifndef|else|endif|define|endef|-?include|sinclude|vpath|unexport)\b(.*)"
)
_KNOWN = {
    "PYTHON": "python",
    "PYTHON3": "python",
    "SHELL": "/bin/sh",
    "MAKE": "make",
    "CURDIR": ".",
    "RM": "rm -f",
}
_MOST_LINES = 5000
_MOST_TARGETS = 60
_MOST_LOOPS = 20
_MOST_CHARACTERS = 8000


@dataclass
class Makefile:
    """Variables and rules of a Makefile."""

    variables: dict[str, str] = field(default_factory=dict)
    rules: dict[str, tuple[list[str], list[str]]] = field(default_factory=dict)
    """Target to prerequisites and recipe lines."""
    exported: set[str] = field(default_factory=set)
    first: str = ""
    included: list[str] = field(default_factory=list)


def read(call: Call, context: ToolContext) -> ToolReading | None:
    """Read one call of make."""
    options = read_options(call.words[1:], _VALUED)
    folder = call.folder
    for value in options.values("-C", "--directory"):
        folder = inside(folder, value) or folder
    named = options.values("-f", "--file", "--makefile")[-1:] or [
        n for n in _NAMES if context.files.is_file(beside(folder, n))
    ]
    path = beside(folder, named[0]) if named else beside(folder, "Makefile")
    text = context.files.text(path)
    jobs = re.compile(r"\d+")
    if not text:
        context.log.dropped(call.line(), f"there is no readable {path}")
        return None
    if not context.budget.spend(len(text)):
        context.log.dropped(call.line(), "the Makefile is read too often")
        return None
    words = [word for word in (*options.positional, *options.rest) if not jobs.fullmatch(word)]
    given = dict(
        word.split("=", 1) for word in words if re.fullmatch(r"[\w.-]+=.*", word, re.DOTALL)
    )
    makefile = parse_makefile(text, {**context.variables, **call.environment}, given)
    for name in makefile.included[:10]:
        context.log.dropped(f"{path}: include {name}", "included files are not supported")
    targets = [word for word in words if "=" not in word] or [makefile.first]
    context.log.replaced(call.line(), f"the commands of {', '.join(targets)} in {path} are run")
    run = _Run(makefile, context, folder, given)
    reading = ToolReading()
    for target in targets[:_MOST_TARGETS]:
        reading = reading.plus(run.target(target))
    return reading if run.done else None


def parse_makefile(text: str, environment: Mapping[str, str], given: Mapping[str, str]) -> Makefile:
    """Parse the rules of a Makefile.

    Args:
        text: The file.
        environment: Variables that `?=` does not override.
        given: Assignments of the command line, which take precedence.
    """
    makefile = Makefile(variables={**_KNOWN, **environment, **given})
    current: list[list[str]] = []
    skipping: list[bool] = []
    for line in re.sub(r"\\\r?\n[ \t]*", " ", text).splitlines()[:_MOST_LINES]:
        if line.startswith("\t"):
            if not any(skipping):
                for recipe in current:
                    recipe.append(line.strip())
            continue
        if (directive := _DIRECTIVE.match(line)) is not None:
            _directive(directive[1], directive[2], makefile, skipping)
            continue
        if any(skipping) or not line.strip() or line.lstrip().startswith("#"):
            continue
        if (assignment := _ASSIGNMENT.fullmatch(line.strip())) is not None:
            _assign(assignment, makefile, environment, given, exported=line.startswith("export"))
            current = []
        elif (rule := _RULE.fullmatch(line.rstrip())) is not None:
            current = _rule(rule, makefile)
        else:
            current = []
    return makefile


def _directive(name: str, rest: str, makefile: Makefile, skipping: list[bool]) -> None:
    """Evaluate conditions on variables; undecidable ones hold."""
    if name in {"ifeq", "ifneq"}:
        sides = _sides(rest.strip())
        values = {expand(side, makefile.variables).strip() for side in sides or ()}
        equal = len(values) == 1
        skipping.append(False if sides is None or "$(shell" in rest else equal is (name == "ifneq"))
    elif name in {"ifdef", "ifndef"}:
        skipping.append((rest.strip() in makefile.variables) is (name == "ifndef"))
    elif name == "else" and skipping:
        skipping[-1] = not skipping[-1]
    elif name == "define":
        skipping.append(True)
    elif name in {"endif", "endef"} and skipping:
        skipping.pop()
    elif "include" in name:
        makefile.included.append(rest.strip()[:100])


def _sides(text: str) -> tuple[str, str] | None:
    """Return what a condition compares, in `(a,b)` or `"a" "b"`; None if that is not plain."""
    if (quoted := _QUOTED_SIDES.fullmatch(text)) is not None:
        return quoted[2], quoted[4]
    if not (text.startswith("(") and text.endswith(")")) or text.count(",") != 1:
        return None
    left, _, right = text[1:-1].partition(",")
    return left.strip().strip("\"'"), right.strip().strip("\"'")


def _assign(
    found: re.Match[str],
    makefile: Makefile,
    environment: Mapping[str, str],
    given: Mapping[str, str],
    *,
    exported: bool,
) -> None:
    name, operator, value = found[1], found[2], re.sub(r"\s#.*$", "", found[3]).strip()
    if exported:
        makefile.exported.add(name)
    if name in given or (operator == "?=" and name in makefile.variables and name not in _KNOWN):
        return
    if operator == "?=" and name in environment:
        return
    if operator == "+=":
        value = f"{makefile.variables.get(name, '')} {value}".strip()
    if operator == "!=":
        value = f"$(shell {value})"
    makefile.variables[name] = value[:_MOST_CHARACTERS]


def _rule(found: re.Match[str], makefile: Makefile) -> list[list[str]]:
    recipes = []
    wanted = expand(found[2].partition("|")[0], makefile.variables).split()[:_MOST_TARGETS]
    for target in expand(found[1], makefile.variables).split()[:_MOST_TARGETS]:
        prerequisites, recipe = makefile.rules.setdefault(target, ([], []))
        prerequisites += [name for name in wanted if not re.fullmatch(r"[\w.]+=.*", name)]
        if found[3]:
            recipe.append(found[3].strip())
        recipes.append(recipe)
        if not makefile.first and not target.startswith(".") and "%" not in target:
            makefile.first = target
    return recipes


_REFERENCE = re.compile(r"\$(?:\(([^()$]{1,200})\)|\{([^{}$]{1,200})\}|([A-Za-z@<^*?]))")


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Substitute make's variables in a text; `$$` is the shell's dollar."""
    # Protect `$$` from the substitution below.
    text = _expand_loops(text[:_MOST_CHARACTERS].replace("$$", "\0"), variables)
    # Variables may refer to each other in a circle.
    for _ in range(8):
        changed = substitute(_REFERENCE, lambda found: _value(found, variables), text)
        changed = changed[:_MOST_CHARACTERS]
        if changed == text:
            break
        text = changed
    return text.replace("\1", "$").replace("\0", "$")


def _expand_loops(text: str, variables: Mapping[str, str]) -> str:
    """Repeat the text of each `$(foreach name,list,text)`."""
    for _ in range(_MOST_LOOPS):
        start = text.find("$(foreach ")
        end = _closing(text, start + 1) if start >= 0 else None
        if end is None:
            break
        name, _, rest = text[start + len("$(foreach ") : end].partition(",")
        values, _, body = rest.partition(",")
        words = [] if "foreach" in values else expand(values, variables).split()[:_MOST_TARGETS]
        parts = [_replace_variable(body, name.strip(), word) for word in words]
        text = (text[:start] + " ".join(parts) + text[end + 1 :])[:_MOST_CHARACTERS]
    return text


def _replace_variable(text: str, name: str, value: str) -> str:
    return text.replace(f"$({name})", value).replace(f"${{{name}}}", value)


def _closing(text: str, start: int) -> int | None:
    """Return the index of the bracket that closes the one at a place."""
    depth = 0
    for at in range(start, min(len(text), start + _MOST_CHARACTERS)):
        depth += (text[at] == "(") - (text[at] == ")")
        if not depth:
            return at
    return None


def _value(found: re.Match[str], variables: Mapping[str, str]) -> str:
    name = (found[1] or found[2] or found[3]).strip()
    if name in variables:
        return variables[name]
    substitution = re.fullmatch(r"([\w.-]+):([^=]*)=(.*)", name)
    if substitution is not None:
        return variables.get(substitution[1], "")
    function, _, arguments = name.partition(" ")
    if function == "shell":
        # only a shell knows the result; the dollar is restored at the end, to distinguish it from
        # make's own
        return _shell(arguments)
    if function in {"strip", "or", "abspath", "realpath"}:
        return arguments.split(",")[0].strip()
    if function == "if":
        parts = arguments.split(",")
        return (
            parts[1].strip() if parts[0].strip() and len(parts) > 1 else "".join(parts[2:3]).strip()
        )
    return ""


def _shell(arguments: str) -> str:
    looks = re.fullmatch(r"(?:which|command -v|type -p)\s+([\w./-]+).*", arguments.strip())
    if looks is not None:
        return looks[1]
    return (
        "." if arguments.strip() in {"pwd", "git rev-parse --show-toplevel"} else f"\1({arguments})"
    )


@dataclass
class _Run:
    makefile: Makefile
    context: ToolContext
    folder: str
    given: Mapping[str, str]
    seen: set[str] = field(default_factory=set)
    done: bool = False

    def target(self, name: str, depth: int = 0) -> ToolReading:
        """Return the commands of a target, after those of its prerequisites; each once."""
        # Targets may depend on each other in a circle.
        if name in self.seen or depth > 20 or len(self.seen) > _MOST_TARGETS:  # noqa: PLR2004
            return ToolReading()
        self.seen.add(name)
        pattern = next((t for t in self.makefile.rules if "%" in t and _matches(t, name)), None)
        rule = self.makefile.rules.get(name) or (
            self.makefile.rules.get(pattern) if pattern is not None else None
        )
        if rule is None:
            if depth == 0 and not self.context.files.is_file(beside(self.folder, name)):
                self.context.log.dropped(f"make {name}", "there is no such target")
            return ToolReading()
        self.done = True
        stem = (
            name[pattern.index("%") : len(name) - len(pattern) + pattern.index("%") + 1]
            if pattern
            else ""
        )
        reading = ToolReading()
        for prerequisite in rule[0]:
            reading = reading.plus(self.target(prerequisite.replace("%", stem), depth + 1))
        automatic = {"@": name, "<": next(iter(rule[0]), ""), "^": " ".join(rule[0]), "*": stem}
        environment = {
            key: expand(self.makefile.variables.get(key, ""), self.makefile.variables)
            for key in self.makefile.exported
        }
        kept = {
            **{k: v for k, v in self.given.items() if re.fullmatch(r"[A-Za-z_]\w*", k)},
            **environment,
        }
        exported = {key: value for key, value in kept.items() if "$" not in value}
        for line in rule[1][:200]:
            text = expand(line, {**self.makefile.variables, **automatic}).strip()
            plain = re.sub(r"^(?:[@+-]\s*)+", "", text)
            if plain:
                tolerated = "-" in text[: len(text) - len(plain)]
                reading = reading.plus(
                    self.context.script(
                        f"{plain} || true" if tolerated else plain, self.folder, exported
                    )
                )
        return reading


def _matches(pattern: str, name: str) -> bool:
    before, _, after = pattern.partition("%")
    return len(name) >= len(pattern) and name.startswith(before) and name.endswith(after)
