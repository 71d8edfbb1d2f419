"""Expand the names of tox's environments, and choose lines by their factors."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice, product
from typing import Any

from sandbox.recipe.files import words
from sandbox.recipe.tools.base import ReadingBudget

MOST_NAMES = 600
MOST_CHARACTERS = 20_000
_MOST_MADE = 2000
"""Limit of names with duplicates."""
_STEPS_OF_A_NAME = 5
_CONDITION = re.compile(r"([\w{}.,!+-]+):(?:\s+(.*)|$)", re.DOTALL)
_PYTHON_FACTOR = re.compile(r"(?:py|python|cpython)?(3)\.?(\d{1,2})t?")


def expand_names(text: str) -> list[str]:
    """Expand `py{38,39}-{a,b}, lint` to names."""
    return list(dict.fromkeys(name for name in _expand(text) if name))[:MOST_NAMES]


def _expand(text: str) -> Iterator[str]:
    """Yield the names, also the empty ones, with duplicates."""
    items = _split_outside_braces(text[:MOST_CHARACTERS])
    return islice((name for item in items for name in _expand_one(item)), _MOST_MADE)


def _split_outside_braces(text: str) -> Iterator[str]:
    depth, item = 0, ""
    for character in text:
        depth = max(depth + (character == "{") - (character == "}"), 0)
        if character in ", \n\t" and not depth:
            yield item
            item = ""
        elif not character.isspace():
            item += character
    yield item


def _expand_one(item: str) -> Iterator[str]:
    parts = re.split(r"(\{[^{}]*\})", item)[:25]
    choices = [_choices(part) if part.startswith("{") else [part] for part in parts]
    for combination in islice(product(*choices), MOST_NAMES):
        yield "".join(combination).strip("-")


def _choices(part: str) -> list[str]:
    """Expand `{38,39}`, and `{3-12}` of newer versions."""
    inner = part.strip("{}")
    found: list[str] = []
    for choice in inner.split(",")[:50]:
        span = re.fullmatch(r"(\d{1,3})-(\d{1,3})", choice)
        found += (
            [str(n) for n in range(int(span[1]), min(int(span[2]), int(span[1]) + 50) + 1)]
            if span
            else [choice]
        )
    return found


def expand_table(table: Mapping[str, Any]) -> str:
    """Expand `{product = [["py313"], {prefix = "a", start = 1, stop = 2}]}` to names."""
    product_of = table.get("product", [table])
    groups = product_of if isinstance(product_of, list) else []
    text = "-".join(f"{{{','.join(_factors(group))}}}" for group in groups[:12])
    left_out = words(table.get("exclude"))
    return ", ".join(name for name in expand_names(text) if name not in left_out)


def _factors(group: object, depth: int = 0) -> list[str]:
    """Return the factors of a list, of a range, or of either with a label."""
    if not isinstance(group, dict):
        return words(group)[:50]
    first, last = group.get("start"), group.get("stop")
    if isinstance(first, int) and isinstance(last, int):
        return [f"{group.get('prefix', '')}{n}" for n in range(first, min(last, first + 50) + 1)]
    inner = group.get("values", next(iter(group.values()), None))
    return _factors(inner, depth + 1) if depth <= 1 else []


def split_factors(env: str) -> set[str]:
    """Return the factors in an environment's name."""
    return {env, *env.split("-")}


def parse_python(env: str) -> str | None:
    """Return the Python in an environment's name, as `3.11`."""
    for factor in env.split("-"):
        if (found := _PYTHON_FACTOR.fullmatch(factor)) is not None:
            return f"{found[1]}.{found[2]}"
    return None


def choose_lines(raw: str, env: str, budget: ReadingBudget) -> str:
    """Return the lines of a value whose condition holds."""
    known, kept = split_factors(env), []
    for line in raw.split("\n"):
        if not budget.spend(len(line) + 1):
            break
        found = _CONDITION.match(line.strip())
        if found is None or not re.search(r"[A-Za-z0-9]", found[1]):
            kept.append(line)
        elif _holds(found[1], known, budget):
            kept.append(found[2] or "")
    return "\n".join(kept)


def _holds(condition: str, known: set[str], budget: ReadingBudget) -> bool:
    for alternative in _expand(condition):
        if not alternative or not budget.spend(_STEPS_OF_A_NAME):
            continue
        negated = [factor[1:] for factor in alternative.split("-") if factor.startswith("!")]
        wanted = [
            factor for factor in alternative.split("-") if factor and not factor.startswith("!")
        ]
        if all(factor in known for factor in wanted) and not any(
            factor in known for factor in negated
        ):
            return True
    return False
