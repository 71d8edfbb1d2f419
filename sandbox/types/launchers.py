"""Programs that only start another one from an environment: `uv run pytest`, `npx eslint`."""

PYTHON_LAUNCHERS: tuple[tuple[str, ...], ...] = (
    *(("uv", "run"), ("uv", "tool", "run"), ("poetry", "run"), ("pdm", "run"), ("pipenv", "run")),
    *(("hatch", "run"), ("rye", "run"), ("uvx",), ("pipx", "run")),
)
NODE_LAUNCHERS: tuple[tuple[str, ...], ...] = (
    *(("npx",), ("pnpm", "exec"), ("yarn", "run"), ("yarn", "exec"), ("yarn",)),
    *(("bunx",), ("bun", "x"), ("npm", "exec"), ("pnpm",)),
)
"""They find the programs of installed packages. The longest of equal starts comes first."""
