"""Which Python a job asks for, read from its words: `3.11`, `3.11.4`, `3.x`, a matrix."""

import re

_PLAIN = re.compile(r"\s*(?:python-?)?(3)\.(\d{1,2})(?:\.\d+)?(?:-dev)?\s*(?:\.x)?\s*")


def read_version(words: object) -> str | None:
    """The first plain CPython version in a value from YAML, TOML or a file, as `3.11`; None when there is none."""
    if isinstance(words, float):  # YAML reads an unquoted 3.10 as 3.1; what the author meant is plain
        words = "3.10" if words == 3.1 else str(words)  # noqa: PLR2004 (the one version YAML mistakes)
    if not isinstance(words, str):
        return None
    for line in words.splitlines()[:20]:
        if plain := _PLAIN.fullmatch(line.split("#")[0].replace(".x", "")):
            return f"{plain[1]}.{plain[2]}"
    return None


def matrix_version(job_name: str | None, choices: object) -> str | None:
    """The version in a job's name such as `test (3.11, ubuntu)`, if the matrix offers it; else the first choice."""
    offered = [found for word in choices[:50] if (found := read_version(word))] if isinstance(choices, list) else []
    for word in re.findall(r"3\.\d{1,2}", job_name or ""):
        if word in offered:
            return str(word)
    return offered[0] if offered else None
