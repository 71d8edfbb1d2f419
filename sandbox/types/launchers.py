"""Words around a program that only start it: `uv run pytest`, `npx eslint`, `test -z "$(…)"`."""

import re

ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
"""A word that sets a variable: `CI=1`."""

PYTHON_LAUNCHERS: tuple[tuple[str, ...], ...] = (
    *(("uv", "run"), ("uv", "tool", "run"), ("poetry", "run"), ("pdm", "run"), ("pipenv", "run")),
    *(("hatch", "run"), ("rye", "run"), ("uvx",), ("pipx", "run")),
)
NODE_LAUNCHERS: tuple[tuple[str, ...], ...] = (
    *(("npx",), ("pnpm", "exec"), ("yarn", "run"), ("yarn", "exec"), ("yarn",)),
    *(("bunx",), ("bun", "x"), ("npm", "exec"), ("pnpm",)),
)
"""They find the programs of installed packages. The longest of equal starts comes first."""

NODE_MANAGERS = frozenset({"npm", "pnpm", "yarn", "yarnpkg", "bun"})
"""Package managers, which also run scripts and programs."""

NODE_COVERAGE_VALUED = frozenset(
    {"-r", "--reporter", "-x", "--exclude", "-n", "--include", "--report-dir", "-o"}
    | {"--reports-dir", "--nycrc-path", "--cwd", "--temp-directory", "--lines", "--branches"}
    | {"--functions", "--statements", "--extension", "-c", "--config", "--src", "-e"}
    | {"--require", "-i"}
)
"""Options of `c8` and `nyc` whose value is the next word."""

FILE_SELECTOR = "hook_files"
"""A program of the sandbox that runs a command on chosen files: `hook_files OPTION… -- COMMAND`.

Its options contain no space, so that the first ` -- ` ends them.
"""

_LISTING = re.compile(r"""(?:test|\[)\s+-z\s+"?\$\((?P<command>[^()$`"]{1,400})\)"?(?:\s+\])?""")


def without_selector(words: list[str]) -> list[str]:
    """Return the words of a command without the program that chooses its files."""
    if words[:1] != [FILE_SELECTOR] or "--" not in words:
        return words
    return words[words.index("--") + 1 :]


def listing_command(command: str) -> str:
    """Return the command in `test -z "$(gofmt -l .)"`, which is red if it lists a file."""
    found = _LISTING.fullmatch(command.strip())
    return found["command"].strip() if found is not None else ""
