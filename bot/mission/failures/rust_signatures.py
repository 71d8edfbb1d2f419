"""Read messages of cargo about parts of the environment that are missing. Pure."""

from bot.mission.failures.parts import compile_signs, describe_part

_PARTS = {
    "the crate `{0}` is not vendored": (
        r"no matching package named `([\w-]{1,80})` found\n"
        r"location searched: (?:[^\n/]{1,80} index\b|directory source |registry `)"
        r"|failed to download `([\w-]{1,80}) v[^`\n]{1,40}`"
    ),
    "crates are missing": r"attempting to make an HTTP request, but --offline was specified",
    "it needs another Rust: {0}": (
        r"(requires rustc \d[\w.-]{0,20})"
        r"|(this version of Cargo is older than the `\d{4}` edition)"
        r"|(lock file version `\d{1,3}` was found, but this version of Cargo does not understand)"
        r"|(requires the Cargo feature called `[\w-]{1,60}`, but that feature is not stabilized)"
    ),
    "the linker `{0}` is not in the image": r"linker `([\w.-]{1,40})` not found",
}
_SIGNS = compile_signs(_PARTS)


def missing_rust_part(text: str) -> str | None:
    """Describe what of Rust a message misses; None if it names nothing that is known."""
    return describe_part(text, _SIGNS)
