"""Find the missing part in the log of a failed set-up. Pure."""

from bot.mission.failures.parts import compile_signs, describe_part
from sandbox.types import REFUSED_LOCK

_READ = 20_000
"""Characters to read, from the end of the log."""
_MOST = 120
"""Maximum characters of a part's name."""
LOCK_DRIFT = "the lock file does not fit `package.json`: install again and commit the lock file"
"""A mistake of the commit, not of the environment: a package manager refuses the lock file."""
_SAYS = {
    LOCK_DRIFT: REFUSED_LOCK,
    "no version `{0}` is in the registry": r"No matching version found for (\S{1,120}?)\.?\s",
    "there is no package `{0}` in the registry": (
        r"404[^\n]{0,200}?'((?:@[\w.-]{1,60}/)?[\w.-]{1,80}@[^\s']{1,40})' is not"
    ),
    "it needs another Node.js: {0}": (
        r"Unsupported engine:? ([^\n]{1,100})"
        r"|The engine \"node\" is incompatible[^.\n]{0,80}\. ([^\n]{1,80})"
    ),
    "it needs another Go: {0}": r"go\.(?:mod|work) requires go >= ([^\n)]{1,80})",
    "no distribution of `{0}` can be had": r"No matching distribution found for ([^\s(]{1,120})",
    "there is no distribution `{0}`": (
        r"[Bb]ecause ([A-Za-z0-9][\w.-]{0,80}) was\s+not\s+found\s+in\s+the\s+"
        r"(?:package\s+registry|cache|provided)"
    ),
    "there is no version `{0}`": r"[Tt]here\s+(?:is|are)\s+no\s+versions?\s+of\s+([^\s,]{1,120})",
    "`{0}` cannot be built": (
        r"(?:Failed to build|Failed building wheel for|Could not build) "
        r"`?([A-Za-z0-9][^\s`]{0,100})"
    ),
    "it wants another Python: {0}": r"requires a different Python:? ([^\n]{1,100})",
    "it wants Python {0}": (
        r"(?:requires-python|depends\s+on\s+Python|Requires-Python):?\s*`?([<>=!~ ][^\s`,;)]{1,30})"
    ),
    "the header `{0}` is not in the image": r"fatal error: ([\w/.+-]{1,100}\.h): No such file",
    "the program `{0}` is not in the image": (
        r"(?:command '([\w+-]{1,40})' failed: No such file"
        r"|sh: (?:\d+: )?([\w+-]{1,40}): (?:command )?not found)"
    ),
    "the module `{0}` is needed to build": r"No module named '?([\w.]{1,80})",
}
"""Messages of installers, compilers and shells, by meaning."""
_SIGNS = compile_signs(_SAYS)


def find_missing_part(log: str) -> str:
    """Return the part that could not be installed, in a few words; empty if unknown.

    Args:
        log: The end of the set-up's output, bounded and gated.
    """
    return describe_part(log[-_READ:], _SIGNS, _shorten) or ""


def _shorten(part: str) -> str:
    return part.strip().strip("`'\".")[:_MOST]
