"""How often the repair of files that do not parse finds the original: one JSON line.

Files of the running interpreter's standard library are broken in seeded ways (a bracket, colon, quote, comma or
indent goes, markers of a merge come in); nothing of them is ever run. A proposal counts when its tree is the
original's.
"""

import argparse
import ast
import json
import random
import re
import resource
import sysconfig
import tokenize
import warnings
from collections.abc import Callable
from io import StringIO
from pathlib import Path

from sandbox.guest.search.candidates.broken import propose
from sandbox.guest.search.candidates.broken.model import Broken
from sandbox.guest.search.source.render import splice

MAX_BYTES = 40_000
Break = Callable[[str, random.Random], str | None]


def _tokens(text: str) -> list[tuple[tokenize.TokenInfo, int]]:
    """Tokens with the offset at which each begins."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    read = tokenize.generate_tokens(StringIO(text).readline)
    return [(token, starts[token.start[0] - 1] + token.start[1]) for token in read]


def without(*words: str) -> Break:
    """Drop one token of these."""

    def break_it(text: str, chance: random.Random) -> str | None:
        places = [
            (t, at)
            for t, at in _tokens(text)
            if t.string in words and t.type in {tokenize.OP, tokenize.NAME}
        ]
        if not places:
            return None
        token, at = chance.choice(places)
        return text[:at] + text[at + len(token.string) :]

    return break_it


def without_colon(text: str, chance: random.Random) -> str | None:
    """Drop the colon at the end of a block's head."""
    places = [m.start() for m in re.finditer(r":(?=[ \t]*(?:#.*)?$)", text, re.MULTILINE)]
    if not places:
        return None
    at = chance.choice(places)
    return text[:at] + text[at + 1 :]


def without_quote(text: str, chance: random.Random) -> str | None:
    """Drop the first or the last quote of a string."""
    places = [
        at + (len(t.string) - 1 if chance.random() < 0.6 else t.string.index(t.string[-1]))
        for t, at in _tokens(text)
        if t.type == tokenize.STRING and t.string[-3:] not in {'"""', "'''"}
    ]
    if not places:
        return None
    at = chance.choice(places)
    return text[:at] + text[at + 1 :]


def without_triple(text: str, chance: random.Random) -> str | None:
    """Drop the closing triple quotes of a string."""
    places = [
        at + len(t.string) - 3
        for t, at in _tokens(text)
        if t.type == tokenize.STRING and t.string[-3:] in {'"""', "'''"}
    ]
    if not places:
        return None
    at = chance.choice(places)
    return text[:at] + text[at + 3 :]


def extra(*words: str) -> Break:
    """One token twice."""

    def break_it(text: str, chance: random.Random) -> str | None:
        places = [(t, at) for t, at in _tokens(text) if t.string in words and t.type == tokenize.OP]
        if not places:
            return None
        token, at = chance.choice(places)
        return text[:at] + token.string + text[at:]

    return break_it


def other_closer(text: str, chance: random.Random) -> str | None:
    """A closing bracket of another kind."""
    places = [
        (t, at) for t, at in _tokens(text) if t.string in {")", "]", "}"} and t.type == tokenize.OP
    ]
    if not places:
        return None
    token, at = chance.choice(places)
    return text[:at] + chance.choice([c for c in ")]}" if c != token.string]) + text[at + 1 :]


def reindented(change: int) -> Break:
    """One line moved by some columns."""

    def break_it(text: str, chance: random.Random) -> str | None:
        lines = text.split("\n")
        places = [
            n
            for n, line in enumerate(lines)
            if line.strip() and (change > 0 or line.startswith(" " * -change))
        ]
        if not places:
            return None
        at = chance.choice(places)
        lines[at] = " " * change + lines[at] if change > 0 else lines[at][-change:]
        return "\n".join(lines)

    return break_it


def block_dedented(text: str, chance: random.Random) -> str | None:
    """The body of a block at the depth of its head."""
    lines = text.split("\n")
    heads = [
        n
        for n, line in enumerate(lines[:-1])
        if re.match(r"\s*(?:if|for|while|def|with|else|try)\b.*:$", line)
    ]
    if not heads:
        return None
    head = chance.choice(heads)
    depth = len(lines[head]) - len(lines[head].lstrip())
    for number in range(head + 1, len(lines)):
        width = len(lines[number]) - len(lines[number].lstrip())
        if lines[number].strip() and width <= depth:
            break
        lines[number] = lines[number].removeprefix("    ")
    return "\n".join(lines)


def conflicted(text: str, chance: random.Random) -> str | None:
    """Two versions of some lines between markers."""
    lines = text.split("\n")
    if len(lines) < 10:
        return None
    first = chance.randrange(2, len(lines) - 4)
    last = first + chance.randrange(1, 4)
    ours, theirs = lines[first:last], [line.replace("e", "o") for line in lines[first:last]]
    if chance.random() < 0.5:
        ours, theirs = theirs, ours
    lines[first:last] = ["<<<<<<< HEAD", *ours, "=======", *theirs, ">>>>>>> feature"]
    return "\n".join(lines)


def misspelt(text: str, chance: random.Random) -> str | None:
    """Two letters of a keyword exchanged, or one lost."""
    words = {
        "def",
        "return",
        "class",
        "import",
        "from",
        "while",
        "else",
        "elif",
        "except",
        "for",
        "with",
        "raise",
        "try",
    }
    places = [(t, at) for t, at in _tokens(text) if t.string in words and t.type == tokenize.NAME]
    if not places:
        return None
    token, at = chance.choice(places)
    word = token.string
    cut = chance.randrange(len(word) - 1)
    new = (
        word[:cut] + word[cut + 1] + word[cut] + word[cut + 2 :]
        if chance.random() < 0.5
        else word[:cut] + word[cut + 1 :]
    )
    return text[:at] + new + text[at + len(word) :]


def smart_quotes(text: str, chance: random.Random) -> str | None:
    """Curly quotes around a string."""
    places = [
        (t, at)
        for t, at in _tokens(text)
        if t.type == tokenize.STRING and t.string[0] in "'\"" and t.string[:3] not in {'"""', "'''"}
    ]
    if not places:
        return None
    token, at = chance.choice(places)
    return text[:at] + "\u201c" + token.string[1:-1] + "\u201d" + text[at + len(token.string) :]


def old_print(text: str, _: random.Random) -> str | None:
    """Statements of Python 2."""
    new = re.sub(r"^([ \t]*)print\((.+)\)$", r"\1print \2", text, flags=re.MULTILINE)
    return re.sub(r"except (\w+) as (\w+):", r"except \1, \2:", new)


def diff_markers(text: str, chance: random.Random) -> str | None:
    """A plus in front of some lines."""
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    for number in range(at, min(len(lines), at + chance.randrange(1, 4))):
        lines[number] = "+" + lines[number]
    return "\n".join(lines)


BREAKS: dict[str, Break] = {
    "no closing bracket": without(")", "]", "}"),
    "no opening bracket": without("(", "[", "{"),
    "no colon": without_colon,
    "no quote": without_quote,
    "no triple quote": without_triple,
    "no comma": without(","),
    "no operator": without("=", "==", "+", ".", "%", "in", "and"),
    "no keyword": without("def", "class", "return", "for", "if", "import", "not", "else", "as"),
    "extra bracket": extra("(", ")", "[", "]", "{", "}"),
    "extra token": extra(",", "=", ":", "."),
    "other closer": other_closer,
    "one column more": reindented(1),
    "indented line": reindented(4),
    "dedented line": reindented(-4),
    "half dedented line": reindented(-2),
    "dedented block": block_dedented,
    "conflict": conflicted,
    "misspelt keyword": misspelt,
    "smart quotes": smart_quotes,
    "python 2": old_print,
    "diff markers": diff_markers,
}


def refused(text: str) -> SyntaxError | None:
    """Why a text does not compile."""
    try:
        compile(text, "x", "exec", dont_inherit=True)
    except SyntaxError as error:
        return error
    return None


def corpus(per_kind: int, seed: int) -> list[tuple[str, str, str, SyntaxError]]:
    """Kind, original, broken text and error."""
    chance = random.Random(seed)  # noqa: S311 - which places are broken
    folder = Path(sysconfig.get_path("stdlib"))
    paths = [*sorted(folder.glob("*.py")), *sorted(folder.glob("[a-z]*/*.py"))]
    names = [str(path.relative_to(folder)) for path in paths]
    files = [
        path
        for path, name in zip(paths, names, strict=True)
        if not name.startswith(("test", "site-packages", "idlelib/idle_test"))
        and 1_000 < path.stat().st_size < MAX_BYTES
    ]
    found = []
    for kind, break_it in BREAKS.items():
        made = 0
        for _ in range(per_kind * 40):
            if made == per_kind:
                break
            try:
                original = chance.choice(files).read_text(encoding="utf-8")
            except UnicodeDecodeError:
                continue
            broken = break_it(original, chance)
            error = refused(broken) if broken is not None and refused(original) is None else None
            if broken is not None and error is not None:
                found.append((kind, original, broken, error))
                made += 1
    return found


def rank_of(original: str, broken: str, error: SyntaxError) -> tuple[int | None, list[str]]:
    """At which place the original is proposed."""
    wanted = ast.dump(ast.parse(original))
    source = broken.encode()
    hint = Broken("x.py", error.lineno or 1, error.offset or 0, str(error.msg))
    shown = []
    for rank, proposal in enumerate(propose(source, hint), start=1):
        shown.append(f"{proposal.cost:.2f} {proposal.template} {proposal.description}")
        if ast.dump(ast.parse(splice(source, proposal.edits).decode())) == wanted:
            return rank, shown
    return None, shown


def main() -> None:
    """Break, repair, count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--per-kind", type=int, default=12)
    parser.add_argument("--seed", type=int, default=20261122)
    parser.add_argument("--kind", default="")
    parser.add_argument("--show", action="store_true", help="print what was missed")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    kinds: dict[str, dict[str, int]] = {}
    seconds: list[float] = []
    for kind, original, broken, error in corpus(arguments.per_kind, arguments.seed):
        if not kind.startswith(arguments.kind):
            continue
        before = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        rank, shown = rank_of(original, broken, error)
        seconds.append(resource.getrusage(resource.RUSAGE_SELF).ru_utime - before)
        row = kinds.setdefault(kind, {"n": 0, "first": 0, "of_5": 0, "of_20": 0})
        row["n"] += 1
        for name, most in (("first", 1), ("of_5", 5), ("of_20", 20)):
            row[name] += rank is not None and rank <= most
        if arguments.show and rank != 1:
            one, other = original.split("\n"), broken.split("\n")
            at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0)
            print(
                f"--- {kind}: rank {rank}, {seconds[-1]:.1f} s, {error.msg} at {error.lineno}:{error.offset}"
            )
            print(f"  {at + 1} wanted {one[at]!r}\n  {at + 1} broken {other[at]!r}")
            print("\n".join(f"    {line}" for line in shown[:4]))
    total = {
        name: sum(row[name] for row in kinds.values()) for name in ("n", "first", "of_5", "of_20")
    }
    seconds.sort()
    figures = {
        "median_cpu_s": round(seconds[len(seconds) // 2], 2),
        "p90_cpu_s": round(seconds[int(len(seconds) * 0.9)], 2),
    }
    print(json.dumps({"benchmark": "broken_files", **total, **figures, "kinds": kinds}))


if __name__ == "__main__":
    main()
