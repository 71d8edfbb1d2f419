"""Run `go test` inside the sandbox and record the result of each test.

Standard input contains a JSON object: the key of the records, and the commands `go list` and `go
test`. Go runs each package's tests in a process of their own and converts what that process prints.
Code of the repository can therefore print results that no test had. It can also write to Go's own
output, because it runs as the same user, and so invent results of other packages. It cannot write
records. The declared tests are read from the sources before any test runs.

Records: `tests` declared tests (JSON, zlib, base64), each as package, folder and test with tabs
between · `controlled` name of the control test · `test` name, outcome, milliseconds · `fail` name,
text · `package` name, outcome, text · `exit` status.
"""

import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import zlib
from typing import Any, Dict, Iterator, List, Optional, Tuple

from sandbox.guest.record_channel import Channel
from sandbox.guest.seccomp import Kernel

RESULTS = 3
TEXT_CHARACTERS = 6000
MOST_SOURCE_BYTES = 1 << 20
MOST_DECLARED = 50000
MOST_SECONDS = 1000000
_FIELDS = "ImportPath,Dir,Name,TestGoFiles,XTestGoFiles"
_CONTROL = """package %s_test

import "testing"

func %s(t *testing.T) {}
"""
_OLDEST_WITH_OVERLAY = 24
_OUTCOMES = {"pass": "p", "fail": "f", "skip": "s"}
_TOKENS = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|`[^`]*`?|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?", re.DOTALL
)
"""Comments and texts, in which a declaration is none. One without an end is read only once."""
_DECLARED = re.compile(r"^func[ \t]+(Test(?:[^a-z\W]\w*)?)[ \t]*\(\w+ \*\w+\.T\)", re.MULTILINE)
_FATAL = re.compile(r"^(?:panic|fatal error): ", re.MULTILINE)
Key = Tuple[str, str]


def declared_tests(source: str) -> List[str]:
    """Return the names of the tests that a Go file declares."""
    return _DECLARED.findall(_TOKENS.sub(" ", source))


def list_packages(words: List[str]) -> List[Dict[str, Any]]:
    """Return what `go list` says of each package.

    Args:
        words: The command `go list` with options and packages.
    """
    command = [*words[:2], "-e", "-json=" + _FIELDS, *words[2:]]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    # Only between two packages is a bracket the whole line.
    text = done.stdout.decode("utf-8", "replace").replace("\n}\n{\n", "\n},\n{\n")
    try:
        return list(json.loads("[" + text + "]"))
    except ValueError:
        return []


def test_files(package: Dict[str, Any]) -> List[str]:
    """Return the names of a package's test files."""
    return [*(package.get("TestGoFiles") or ()), *(package.get("XTestGoFiles") or ())]


def list_declared(packages: List[Dict[str, Any]]) -> Iterator[str]:
    """Yield each package, its folder and each test that its sources declare, with tabs between."""
    for package in packages:
        folder = str(package.get("Dir", ""))
        start = "%s\t%s\t" % (package.get("ImportPath", ""), folder)
        yield start
        for name in test_files(package):
            for test in declared_tests(_read(os.path.join(folder, name))):
                yield start + test


def can_overlay(program: str) -> bool:
    """Return True if all parts of `go test` know the option `-overlay`; older vet does not."""
    if "-overlay" in os.environ.get("GOFLAGS", ""):
        return False
    done = subprocess.run([program, "env", "GOVERSION"], stdout=subprocess.PIPE, check=False)
    found = re.match(rb"go1\.(\d+)", done.stdout)
    return found is not None and int(found[1]) >= _OLDEST_WITH_OVERLAY


def write_controls(packages: List[Dict[str, Any]], name: str) -> str:
    """Write a control test for each package with tests. Return the file for the option `-overlay`.

    Go sees the control tests in the packages' folders, and the checkout stays as it is. They belong
    to the external test package, so that the package itself is not compiled again.
    """
    folder = tempfile.mkdtemp()
    replaced = {}
    for number, package in enumerate(packages):
        if not test_files(package) or not package.get("Name"):
            continue
        source = os.path.join(folder, "%d.go" % number)
        with open(source, "w", encoding="utf-8") as file:
            file.write(_CONTROL % (package["Name"], name))
        # It comes last, after every test of the package.
        replaced[os.path.join(str(package["Dir"]), "zzzz_control_test.go")] = source
    overlay = os.path.join(folder, "overlay.json")
    with open(overlay, "w", encoding="utf-8") as file:
        json.dump({"Replace": replaced}, file)
    return overlay


def _read(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(MOST_SOURCE_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""


class Events:
    """The events of one `go test -json`.

    Args:
        channel: Receives the records.
    """

    def __init__(self, channel: Any) -> None:
        self._channel = channel
        self._texts: Dict[Key, str] = {}
        self._running: Dict[str, Dict[str, None]] = {}
        self._failed: Dict[str, int] = {}

    def take(self, event: Dict[str, Any]) -> str:
        """Record an event. Return the text to print, as `go test` without `-json` does."""
        action, package = str(event.get("Action", "")), str(event.get("Package", ""))
        test, text = str(event.get("Test", "")), event.get("Output")
        if action == "build-output":
            sys.stderr.write(str(text))
            return ""
        if action == "output":
            return self._add(package, test, str(text))
        if action == "run":
            self._running.setdefault(package, {})[test] = None
            return ""
        if action not in _OUTCOMES:
            return ""
        if test:
            return self._end_test(package, test, event)
        return self._end_package(package, _OUTCOMES[action])

    def _add(self, package: str, test: str, text: str) -> str:
        kept = self._texts.get((package, test), "") + text
        if len(kept) > 2 * TEXT_CHARACTERS:
            kept = kept[:TEXT_CHARACTERS] + "\n[...]\n" + kept[-TEXT_CHARACTERS + 10 :]
        self._texts[(package, test)] = kept
        return "" if test else text

    def _end_test(self, package: str, test: str, event: Dict[str, Any]) -> str:
        self._running.get(package, {}).pop(test, None)
        text = self._texts.pop((package, test), "")
        outcome = _OUTCOMES[event["Action"]]
        elapsed = event.get("Elapsed", 0)
        # A test may print any number.
        is_time = isinstance(elapsed, (int, float)) and 0 <= elapsed < MOST_SECONDS
        milliseconds = int(elapsed * 1000) if is_time else 0
        name = "%s::%s" % (package, test)
        if outcome == "f":
            self._failed[package] = self._failed.get(package, 0) + 1
            self._channel.send(["fail", name, text], detail=True, held=True)
        self._channel.send(["test", name, outcome, milliseconds], held=True)
        return text if outcome == "f" else ""

    def _end_package(self, package: str, outcome: str) -> str:
        shown = ""
        for test in self._running.pop(package, {}) if outcome == "f" else ():
            # The process ended within this test, or another one ended it.
            text = self._texts.pop((package, test), "")
            if _FATAL.search(text) or not self._failed.get(package):
                name = "%s::%s" % (package, test)
                self._channel.send(["fail", name, text], detail=True, held=True)
                self._channel.send(["test", name, "e", 0], held=True)
                shown += text
        own = self._texts.pop((package, ""), "")
        self._channel.send(["package", package, outcome, own if outcome == "f" else ""])
        return shown


def _forward(stream: Any) -> None:
    for line in stream:
        sys.stderr.write(line.decode("utf-8", "replace"))
        sys.stderr.flush()


def run(words: List[str], channel: Any) -> int:
    """Run `go test`, record its events, and return its exit status."""
    events = Events(channel)
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    copier = threading.Thread(target=_forward, args=(process.stderr,), daemon=True)
    copier.start()
    for raw in process.stdout or ():
        line = raw.decode("utf-8", "replace")
        shown = line
        if line.startswith("{"):
            event = _parse(line)
            shown = line if event is None else events.take(event)
        sys.stdout.write(shown)
    sys.stdout.flush()
    status = process.wait()
    copier.join(5)
    return status if status >= 0 else 128 - status


def _parse(line: str) -> Optional[Dict[str, Any]]:
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and "Action" in event else None


def main() -> None:
    """Read the request, list the declared tests, and run the command."""
    config = json.loads(sys.stdin.buffer.read().decode())
    # The processes of the tests run as the same user. They must not read the key in our memory.
    Kernel().set_dumpable(0)
    channel = Channel(RESULTS, bytes.fromhex(config.pop("key")))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    try:
        packages = list_packages(config["list"])
        declared = list(list_declared(packages))[:MOST_DECLARED]
        packed = base64.b64encode(zlib.compress(json.dumps(declared).encode())).decode()
        channel.send(["tests", packed])
        words = config["test"]
        if config["control"] and can_overlay(words[0]):
            words[3:3] = ["-overlay=" + write_controls(packages, config["control"])]
            channel.send(["controlled", config["control"]])
        status = run(words, channel)
    except FileNotFoundError:
        sys.stderr.write("go: not found\n")
        sys.exit(127)
    channel.send(["exit", status])
    channel.close()
    sys.exit(status)
