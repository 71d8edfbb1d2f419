"""Signs in a log of an external cause: runner, time, disk, network, registry, credentials."""

import re
from collections.abc import Iterable

from sandbox.types import LogSignal

_LOOKED_AT = 1000
_PHRASES: dict[LogSignal, tuple[str, ...]] = {
    LogSignal.RUNNER_LOST: (
        r"The runner has received a shutdown signal",
        r"lost communication with the server",
        (
            r"[Tt]he (?:hosted )?runner (?:lost|encountered an error|was shut ?down"
            r"|has been shut ?down)"
        ),
        r"self-hosted runner lost",
    ),
    LogSignal.TIMED_OUT: (
        r"exceeded the maximum execution time",
        r"^##\[error\]The action .{1,200} has timed out after",
        r"^##\[error\].{0,100}[Tt]he job .{0,100}exceeded",
        # timeout(1) exits with 124, and scripts around it describe that in their own words.
        (
            r"(?:exit(?:ed)?(?: with)?(?: code| status)?|return(?:ed|ing)(?: code| status)?|rc ?="
            r"|status) ?:? ?124\b"
        ),
        r"^timeout: sending signal ",
        (
            r"\b(?:took|ran|running|runs) (?:for )?(?:>|longer than|more than|over) ?\d{1,6} ?(?:s"
            r"|sec|m|min|h|hour)"
        ),
        r"\b[Kk]ill(?:ed|ing) .{0,100}(?:after|due to|because of) (?:a )?time-?out\b",
        (
            r"(?i:\b(?:job|step|suite|build|command|process|script|task|run|stage"
            r"|shard)\b.{0,60} (?:has )?timed out)"
        ),
        (
            r"(?i:\b(?:time limit|deadline|time-?out) (?:of .{1,40} )?(?:was "
            r"|has been )?(?:exceeded"
            r"|reached|expired)\b)"
        ),
    ),
    LogSignal.CANCELLED: (
        r"^##\[error\]The operation was canceled",
        r"^##\[error\]received SIG(?:INT|TERM)",
        r"^##\[error\].{0,60}[Cc]ancelled by",
    ),
    LogSignal.DISK_FULL: (
        r"No space left on device",
        r"\bENOSPC\b",
        r"[Dd]isk quota exceeded",
        r"running out of disk space",
    ),
    LogSignal.OUT_OF_MEMORY: (
        r"exit code 137\b",
        r"CUDA out of memory",
        r"Cannot allocate memory",
        r"JavaScript heap out of memory",
        r"\bOOMKilled\b",
        r"java\.lang\.OutOfMemoryError",
        r"^Killed$",
        r"\boom-kill",
        r"fatal error: Killed signal",
    ),
    LogSignal.RATE_LIMITED: (
        r"API rate limit exceeded",
        r"secondary rate limit",
        r"\btoomanyrequests\b",
        r"pull rate limit",
        r"\b429 (?:Client Error: )?Too Many",
        r"HTTP (?:Error |status )?429\b",
        r"status(?: code)?:? 429\b",
        r"too many 429 ",
    ),
    LogSignal.REGISTRY: (
        r"manifest unknown",
        r"manifest for \S{1,300} not found",
        r"repository does not exist or may require",
        r"pull access denied",
        r"failed to resolve reference",
        r"npm (?:ERR!|error) (?:code )?E?404",
        r"No matching distribution found for",
        r"Unable to find (?:the |any )?artifact",
        r"Artifact not found for name",
        r"Unable to download artifact",
        r"Unable to locate package",
        r"Version .{1,60} with arch .{1,30} not found",
        r"Unable to resolve action",
    ),
    LogSignal.NETWORK: (
        r"[Cc]ould not resolve (?:host|proxy)",
        r"[Tt]emporary failure in name resolution",
        r"Name or service not known",
        r"[Ff]ailed to lookup address",
        r"[Ff]ailed to establish a new connection",
        r"[Cc]onnection (?:reset by peer|timed out)",
        r"\bConnectionResetError\b",
        r"Max retries exceeded with url",
        r"Read timed out",
        (
            r"(?i:\b(?:download|upload|fetch|clone|pull|transfer)(?:ing|s)?\b.{0,80} (?:has "
            r"|have )?timed out)"
        ),
        r"\bReadTimeoutError\b",
        r"TLS handshake timeout",
        r"\bdial tcp\b",
        r"net/http: (?:request canceled|TLS)",
        r"\b(?:ECONNRESET|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)\b",
        r"\bdns error\b",
        r"CERTIFICATE_VERIFY_FAILED",
        r"[Cc]ould not fetch URL",
        r"[Ee]rror sending request for url",
        r"\b50[234] (?:Server Error|Bad Gateway|Service Unavailable|Gateway Time-?out)",
        r"[Tt]he remote end hung up unexpectedly",
        r"RPC failed; (?:curl|HTTP)",
        r"[Ff]ailed to connect to \S{1,200} port",
        r"unexpected EOF while reading",
        r"\bsocket hang up\b",
        r"[Nn]etwork is unreachable",
        r"We couldn't connect to",
    ),
    LogSignal.CREDENTIALS: (
        # Many refusals are harmless (caches, metrics): only errors of the runner or of git count.
        (
            r"^##\[error\].{0,400}(?:[Cc]redentials could not be loaded"
            r"|is not authorized to perform"
            r"|[Bb]ad credentials)"
        ),
        r"^##\[error\].{0,400}(?:HttpError: 40[13]|Resource not accessible by integration)",
        r"^fatal: (?:Authentication failed for|could not read Username for)",
        r"denied: requested access to the resource",
        r"^##\[error\]Input required and not supplied: (?:token|\S{0,30}key)",
        r"^remote: (?:Permission to .{1,200} denied|Invalid username or)",
    ),
}
"""In causal order: a lost runner also cancels the job."""
OF_THE_JOB = frozenset(
    {LogSignal.RUNNER_LOST, LogSignal.TIMED_OUT, LogSignal.CANCELLED, LogSignal.DISK_FULL}
)
"""Signals that end the job and count wherever the runner writes them.

Others concern the step that prints them.
"""
_PATTERNS = {signal: re.compile("|".join(phrases)) for signal, phrases in _PHRASES.items()}
_ANY = re.compile("|".join(phrase for phrases in _PHRASES.values() for phrase in phrases))
_HERE = re.compile(r"\blocalhost\b|\b127\.0\.0\.1\b|\[::1\]")
"""A connection to the own host is not the network."""


def find_signals(own: Iterable[str], marks: Iterable[str] = ()) -> dict[LogSignal, str]:
    """Return each signal with the first line that shows it, in causal order.

    Args:
        own: Lines of the failed step.
        marks: Lines that the runner marked as errors, anywhere in the job.
    """
    of_job = {
        signal: line for signal, line in _match_signals(marks).items() if signal in OF_THE_JOB
    }
    found = of_job | _match_signals(own)
    return {signal: found[signal] for signal in _PATTERNS if signal in found}


def _match_signals(lines: Iterable[str]) -> dict[LogSignal, str]:
    """Return each signal with the first line that shows it."""
    found: dict[LogSignal, str] = {}
    for whole in lines:
        line = whole[:_LOOKED_AT]
        # These lines show a command and no output.
        if line.startswith(("##[group]", "+ echo ")) or _ANY.search(line) is None:
            continue
        for signal, pattern in _PATTERNS.items():
            if signal in found or pattern.search(line) is None:
                continue
            if signal is not LogSignal.NETWORK or _HERE.search(line) is None:
                found[signal] = line
    return found
