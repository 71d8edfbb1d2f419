"""A typed runner for git through GitPython.

It builds argv itself and ignores host and repository settings.
"""

import os
import re
import signal
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from sandbox.errors import ImportRejected, SandboxUnavailable
from sandbox.spec import MIB, SandboxSpec

_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "/bin/false",
    "SSH_ASKPASS": "/bin/false",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}
OLDEST = (2, 39)
_INSTALL = "Install git 2.39 or newer."
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.symlinks=false",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "core.pager=cat",
    "core.sshCommand=/bin/false",
    "core.askPass=/bin/false",
    "core.gitProxy=",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.alternateRefsCommand=",
    "core.bigFileThreshold=1m",
    "core.quotePath=false",
    # Except for the protocol of the request, which `_start` allows.
    "protocol.allow=never",
    "transfer.fsckObjects=true",
    "fetch.fsckObjects=true",
    "transfer.bundleURI=false",
    # One pack per fetch, so that the limit of the file size also limits the fetch.
    "fetch.unpackLimit=1",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    # Ignore bare repositories inside other ones, which bring their own configuration.
    "safe.bareRepository=explicit",
    "credential.helper=",
    # A redirect could send the authorization to another host.
    "http.followRedirects=false",
    "uploadpack.packObjectsHook=",
    "diff.external=",
    "gc.auto=0",
    "maintenance.auto=false",
    "gpg.program=/bin/false",
    "pack.windowMemory=64m",
    "pack.threads=1",
    # Mistakes of old tools in honest repositories; never hasDot*, hasDotgit, gitmodules*.
    *(
        f"fetch.fsck.{name}=warn"
        for name in (
            "zeroPaddedFilemode",
            "badTimezone",
            "missingSpaceBeforeDate",
            "missingSpaceBeforeEmail",
        )
    ),
)
# GitPython passes the whole environment of this process to its child. This launcher keeps only the
# named variables and sets the limits in the child itself, because a preexec_fn may deadlock in a
# process with threads.
_LAUNCHER = """import os, resource, sys
limits = {resource.RLIMIT_FSIZE: int(sys.argv[1]), resource.RLIMIT_AS: 2 << 30}
limits[resource.RLIMIT_CORE] = 0
for which, most in limits.items():
    resource.setrlimit(which, (most, most))
kept = {name: os.environ[name] for name in sys.argv[2].split(",") if name in os.environ}
try:
    os.execvpe(sys.argv[3], sys.argv[3:], kept)
except FileNotFoundError:
    sys.exit(127)
"""
_REASONS = (
    (
        r"authentication failed|could not read (username|password)|error: 40[13]",
        "the server refuses access to it",
    ),
    (
        r"not our ref|couldn't find remote ref|no such remote ref|unadvertised object",
        "the commit does not exist",
    ),
    (
        r"repository .* not found|error: 404|not found",
        "the repository does not exist or is not accessible",
    ),
    (
        r"could not resolve|failed to connect|connection (refused|reset|timed out)|timed out",
        "the server does not respond",
    ),
    (r"unable to update url base|redirect", "the server redirects to another address"),
    (
        r"file size limit|signal 25|file too large|write error|no space left",
        "it exceeds the size limit",
    ),
    (r"ssl|certificate", "the server's certificate cannot be verified"),
)
_NOT_FOUND = 127
_FETCH_BYTES = 256 * MIB


class GitRunner:
    """Runs git on one of our bare repositories.

    Args:
        repository: The repository; it need not exist yet.
        spec: Limits of time and size.
    """

    def __init__(self, repository: Path, spec: SandboxSpec) -> None:
        self._repository = repository
        self._spec = spec

    def run(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        stdin: Any = None,
        most: int = MIB,
        scheme: str = "",
    ) -> bytes:
        """Run one git command and return its output, at most `most` bytes."""
        kept = bytearray()
        for chunk in self.stream(*arguments, env=env, stdin=stdin, scheme=scheme):
            kept += chunk
            if len(kept) > most:
                raise ImportRejected(f"git {arguments[0]} printed more than {most} bytes.")
        return bytes(kept)

    def stream(
        self,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        stdin: Any = None,
        scheme: str = "",
    ) -> Generator[bytes]:
        """Run one git command and yield its output. Closing the iterator kills the command."""
        process = self._start(
            arguments, {**_ENVIRONMENT, **(env or {}), "GIT_ALLOW_PROTOCOL": scheme}, stdin, scheme
        )
        errors: list[bytes] = []
        late = threading.Event()

        def stop() -> None:
            if process.returncode is None:
                late.set()
                _kill_group(process.pid)

        watch = threading.Timer(self._spec.fetch_wall_s, stop)
        listener = threading.Thread(target=_drain, args=(process.stderr, errors), daemon=True)
        watch.start()
        listener.start()
        try:
            while chunk := process.stdout.read1(1 << 16):
                yield chunk
            status = process.wait()
        finally:
            watch.cancel()
            if process.returncode is None:
                _kill_group(process.pid)
                process.wait()
            listener.join()
            process.stdout.close()
            process.stderr.close()
        if late.is_set():
            raise ImportRejected(
                f"git {arguments[0]} took longer than {self._spec.fetch_wall_s:g} s."
            )
        if status == _NOT_FOUND:
            raise SandboxUnavailable("git was not found on this host.", _INSTALL)
        if status != 0:
            raise ImportRejected(_describe_error(arguments[0], status, b"".join(errors)))

    def _start(
        self, arguments: tuple[str, ...], env: dict[str, str], stdin: Any, scheme: str
    ) -> Any:
        try:
            from git import Git
            from git.exc import GitCommandNotFound
        except ImportError as error:
            raise SandboxUnavailable("git is not installed on this host.", _INSTALL) from error
        settings = [*_SETTINGS, *([f"protocol.{scheme}.allow=always"] if scheme else [])]
        if self._spec.ca_bundle and scheme == "https":
            settings.append(f"http.sslCAInfo={self._spec.ca_bundle}")
        argv = [
            sys.executable,
            "-I",
            "-S",
            "-c",
            _LAUNCHER,
            str(_FETCH_BYTES),
            ",".join(env),
            "git",
        ]
        argv += [
            "--no-pager",
            "--literal-pathspecs",
            "--no-optional-locks",
            f"--git-dir={self._repository}",
        ]
        argv += [part for setting in settings for part in ("-c", setting)]
        try:
            wrapper = Git("/").execute(
                [*argv, *arguments],
                env=env,
                istream=stdin,
                as_process=True,
                shell=False,
                start_new_session=True,
            )
        except (GitCommandNotFound, OSError) as error:
            raise SandboxUnavailable("git could not be started on this host.", _INSTALL) from error
        process = wrapper.proc
        wrapper.proc = None  # this class kills the whole process group itself
        return process


def version_on_host() -> tuple[int, ...]:
    """Return the version of git on this host.

    Raises:
        SandboxUnavailable: git is missing or too old to be restricted by settings.
    """
    try:
        from git import Git
        from git.exc import CommandError
    except ImportError as error:
        raise SandboxUnavailable("git is not installed on this host.", _INSTALL) from error
    try:
        found = tuple(Git("/").version_info)
    except (CommandError, OSError) as error:
        raise SandboxUnavailable("git could not be started on this host.", _INSTALL) from error
    if found < OLDEST:
        raise SandboxUnavailable(
            f"git {'.'.join(map(str, found))} on this host is too old.", _INSTALL
        )
    return found


def _describe_error(command: str, status: int, errors: bytes) -> str:
    """Describe git's error in our own words.

    Its output comes from the server and is not repeated.
    """
    output = errors.decode("utf-8", "replace").lower()
    if check := re.search(r"(?:error|fsck)[^\n]*?: ([a-z]{4,40}):", output):
        return f"The repository contains a malformed object ({check[1]}) and is not imported."
    for pattern, reason in _REASONS:
        if re.search(pattern, output):
            return f"The commit could not be fetched: {reason}."
    return f"git {command} failed with status {status}."


def _drain(pipe: Any, kept: list[bytes]) -> None:
    """Read a pipe to its end and keep the first 64 KiB."""
    size = 0
    while chunk := pipe.read1(1 << 14):
        if size < 1 << 16:
            kept.append(chunk)
        size += len(chunk)


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
