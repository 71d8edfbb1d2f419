"""Steps that only run after a failure: they upload, show, report or clean up."""

import re

from sandbox.runners.ci_log.steps import LogStep

_ACTION = re.compile(r"^\.{0,2}[\w./-]{1,200}(?:@[\w./-]{1,200})?$")
_WORD = re.compile(r"[a-z]+")
_ACTION_WORDS = frozenset(
    {
        "upload", "artifact", "artifacts", "codecov", "coveralls", "cleanup", "clean", "teardown",
        "slack",
        "notify", "notification", "notifications", "discord", "telegram", "comment", "report",
        "reporter",
        "reports", "results", "summary", "annotate", "annotations", "save", "stop", "sarif",
        "junit",
    }
)  # fmt: skip
"""Words in the name of an action."""
_PROGRAM_WORDS = frozenset(
    {
        "upload", "cleanup", "teardown", "notify", "slack", "codecov", "coveralls", "collect",
        "dump", "stop", "prune",
    }
)  # fmt: skip
"""Words at the start of a command: `./ci/clean-up.sh`, `python -m tools.upload_stats`."""
_PLAIN = frozenset(
    {
        "cat", "head", "tail", "ls", "df", "du", "free", "ps", "dmesg", "journalctl", "find",
        "stat", "echo",
        "printf", "rm", "mkdir", "cp", "mv", "zip", "tar", "gzip", "kill", "pkill", "killall",
        "sleep",
    }
)  # fmt: skip
"""Commands that show or move files."""
_OTHER_WORDS = {
    "docker": frozenset(
        {"logs", "ps", "stop", "rm", "kill", "down", "prune", "images", "inspect", "stats", "info"}
    ),
    "kubectl": frozenset({"logs", "describe", "get", "delete", "events"}),
    "aws": frozenset({"s3"}),
    "gsutil": frozenset({"cp", "rsync"}),
    "git": frozenset({"status", "clean", "log"}),
}
"""Programs that do so with one of these words among their first ones."""
_SAME = {"podman": "docker", "docker-compose": "docker", "oc": "kubectl"}
_NEUTRAL = re.compile(
    r"^(?:$|#|set [-+]|if\b|then\b|else\b|elif\b|fi\b|for\b|while\b|do\b|done\b|case\b|esac\b|\{"
    r"|\}|cd |export |shopt "
    r"|trap |[A-Za-z_]\w*=)"
)
_MEANS_TO_FAIL = re.compile(r"\bexit [1-9$]")
_TOLERANT = re.compile(r"\|\| *(?:true|:|echo\b.*|exit 0)$")


def is_aftermath(step: LogStep) -> bool:
    """Return True if a step only handles the results of another one."""
    if not step.script and _ACTION.match(step.name):
        return bool(_words(step.name.partition("@")[0]) & _ACTION_WORDS)
    lines = [line.strip() for line in step.script or (step.name,)]
    commands = [line for line in lines if not _NEUTRAL.match(line)]
    if any(_MEANS_TO_FAIL.search(line) for line in lines):
        return False
    return bool(commands) and all(_is_follow_up(command) for command in commands)


def _is_follow_up(command: str) -> bool:
    """Return True if a command uploads, shows or cleans up, or may fail."""
    if _TOLERANT.search(command):
        return True
    words = [word for word in command.split() if word != "sudo" and not word.startswith("-")][:4]
    program = words[0].rsplit("/", 1)[-1] if words else ""
    if _words(" ".join(words[:3])) & _PROGRAM_WORDS:
        return True
    if "|" in command:
        return False
    if program in _PLAIN:
        return True
    return bool(_OTHER_WORDS.get(_SAME.get(program, program), frozenset()) & set(words[1:]))


def _words(name: str) -> frozenset[str]:
    """Return the words of a name; `clean-up` counts as one."""
    return frozenset(_WORD.findall(re.sub(r"(clean|tear)[-_ ](up|down)", r"\1\2", name.lower())))
