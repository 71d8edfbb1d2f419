"""Fetches everything that an environment needs when some of it has no wheel, and runs nothing of it.

The installer resolves wheels only. For a project without one it is shown stand-ins: wheels that hold nothing but the
metadata which the source distribution carries. What it then chooses is fetched: wheels into the environment, source
distributions and what builds them into a folder each, for `build_sdists` to build when nothing can be reached any more.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from typing import Any, Dict, List, Set

from sandbox.guest.source_index import Index, NotGiven, Source, normal_name
from sandbox.guest.source_metadata import Described, describe

ROUNDS = 60
MAX_VERSIONS = 2000
PLAN = "plan.json"
RESULTS = 3
_NO_WHEEL = re.compile(
    r"Wheels are required for `([A-Za-z0-9._-]+)`"
    r"|([A-Za-z0-9][A-Za-z0-9._-]*)(?:[<>=!~]\S*)? ha(?:s|ve) no (?:usable )?wheels"
)


class Failed(Exception):
    """It cannot be done; of which package, and why."""

    def __init__(self, package: str, reason: str, log: str = "") -> None:
        Exception.__init__(self, reason)
        self.package = package
        self.reason = reason
        self.log = log


def installer() -> str:
    """The installer of the toolchain: a package of the environment may bring a program that is called like it."""
    theirs = os.path.join(os.environ.get("VIRTUAL_ENV", ""), "bin")
    folders = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder != theirs]
    return shutil.which("uv", path=os.pathsep.join(folders)) or "uv"


def uv(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run the installer."""
    env = dict(os.environ, **variables)
    return subprocess.run((installer(), *arguments), capture_output=True, text=True, env=env, check=False)


def tell(answer: Dict[str, Any]) -> None:
    """Say how it ended, on the results channel."""
    data = json.dumps(answer).encode("ascii")
    while data:
        data = data[os.write(RESULTS, data) :]


def guarded(work: "Any") -> None:
    """Run to the end, and tell the result or the failure."""
    try:
        tell(work())
    except Failed as error:
        print(error.log, file=sys.stderr)
        tell({"package": error.package, "reason": error.reason})
        sys.exit(1)


def names_without_wheel(said: str) -> Set[str]:
    """Of which projects the installer says that they have no wheel."""
    text = " ".join(said.split())
    return {normal_name(one or other) for one, other in _NO_WHEEL.findall(text)} - {"versions", "which"}


class Fetching:
    """One fetch.

    Args:
        folder: With the requirements.
        python: The interpreter of the environment.
    """

    def __init__(self, folder: str, python: str) -> None:
        self._folder = folder
        self._python = python
        self._index = Index(os.environ.get("UV_DEFAULT_INDEX") or usual_index())
        self._offered: Dict[str, Source] = {}
        self._fetched: Dict[str, Described] = {}
        self._names: Set[str] = set()
        self._room = room(folder)
        for name in ("stand-ins", "sdists", "built", "tools"):
            os.makedirs(self._path(name), exist_ok=True)

    def run(self) -> Dict[str, Any]:
        """Resolve, fetch, and install the wheels."""
        chosen = self._resolve()
        pins = [pin for pin, stand_in in chosen.items() if not stand_in]
        if pins:
            self._install("the wheels", self._python, *pins, "--no-deps")
        plan = []
        for number, stand_in in enumerate(sorted(filter(None, chosen.values()))):
            source = self._offered[stand_in]
            tools = os.path.join(self._path("tools"), str(number))
            self._make_tools(source, self._fetched[stand_in], tools)
            plan.append({"name": source.name, "version": source.version, "file": source.file, "tools": tools})
        with open(self._path(PLAN), "w") as file:
            json.dump(plan, file)
        return {"sources": ["%s==%s" % (source["name"], source["version"]) for source in plan]}

    def _resolve(self) -> Dict[str, str]:
        """What is to be installed: pins, and the stand-in behind each that has no wheel."""
        for _ in range(ROUNDS):
            done = uv(
                *("pip", "compile", "--python", self._python, "--only-binary", ":all:", "--no-header", "--format"),
                *("pylock.toml", "--find-links", self._path("stand-ins"), self._given("requirements.txt")),
                *self._constraints(),
            )
            if done.returncode:
                names = names_without_wheel(done.stderr) - self._names
                if not names:
                    raise Failed("", "the requirements cannot be met", done.stderr)
                for name in sorted(names):
                    self._offer(name)
                continue
            chosen = chosen_in(done.stdout)
            unknown = [stand_in for stand_in in chosen.values() if stand_in and stand_in not in self._fetched]
            if not unknown:
                return chosen
            for stand_in in unknown:
                self._fetch(stand_in)
        raise Failed("", "the requirements could not be settled in %d rounds" % ROUNDS)

    def _offer(self, name: str) -> None:
        """Stand-ins for every version of a project that has a source distribution only."""
        self._names.add(name)
        with open(self._given("requirements.txt")) as file:
            wanted = file.read()
        try:
            sources = self._index.sources(name)
        except NotGiven as error:
            raise Failed(name, str(error)) from error
        stay = [source for source in sources if not source.yanked or "==" + source.version in wanted]
        if not stay:
            raise Failed(name, "the index has neither a wheel nor a source distribution of it that can be used")
        for source in stay[-MAX_VERSIONS:]:
            self._offered[self._stand_in(source, Described([], [], []), 0)] = source

    def _fetch(self, stand_in: str) -> None:
        """Fetch what was chosen; its stand-in is replaced by one that needs what it needs."""
        source = self._offered.pop(stand_in)
        path = os.path.join(self._path("sdists"), source.file)
        try:
            self._index.fetch(source, path)
            described = describe(path)
        except (NotGiven, ValueError, OSError) as error:
            raise Failed(source.name, "its source distribution cannot be used: %s" % error) from error
        os.unlink(os.path.join(self._path("stand-ins"), stand_in))
        known = self._stand_in(source, described, 1)
        self._offered[known] = source
        self._fetched[known] = described

    def _stand_in(self, source: Source, described: Described, build: int) -> str:
        """Write a wheel of nothing but metadata; returns its file name."""
        escaped = source.name.replace("-", "_")
        file = "%s-%s-%d-py3-none-any.whl" % (escaped, source.version, build)
        info = "%s-%s.dist-info/" % (escaped, source.version)
        lines = ["Metadata-Version: 2.1", "Name: " + source.name, "Version: " + source.version]
        lines += ["Requires-Python: " + source.requires_python] if source.requires_python else []
        lines += ["Provides-Extra: " + extra for extra in described.extras]
        lines += ["Requires-Dist: " + line for line in described.requires]
        with zipfile.ZipFile(os.path.join(self._path("stand-ins"), file), "w") as wheel:
            wheel.writestr(info + "METADATA", "\n".join(lines) + "\n")
            wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr(info + "RECORD", "")
        return file

    def _make_tools(self, source: Source, described: Described, folder: str) -> None:
        """An environment with what builds it, from wheels."""
        made = uv("venv", "--quiet", "--no-project", "--python", self._python, folder)
        if made.returncode:
            raise Failed(source.name, "no environment to build it in could be made", made.stderr)
        if described.build:
            python = os.path.join(folder, "bin", "python")
            self._install("what builds it", python, *described.build, package=source.name)

    def _install(self, what: str, python: str, *wanted: str, package: str = "") -> None:
        done = uv("pip", "install", "--quiet", "--only-binary", ":all:", "--python", python, *wanted)
        if done.returncode:
            raise Failed(package, "%s cannot be had as wheels" % what, done.stderr)

    def _constraints(self) -> List[str]:
        path = self._given("constraints.txt")
        return ["--constraint", path] if os.path.getsize(path) else []

    def _given(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def _path(self, name: str) -> str:
        return os.path.join(self._room, name)


def room(folder: str) -> str:
    """Where sources and tools are put: beside the installer's cache, which is on a disk, where there is one."""
    cache = os.environ.get("UV_CACHE_DIR")
    return os.path.join(os.path.dirname(cache), "metaagent-sources") if cache else folder


def chosen_in(lock: str) -> Dict[str, str]:
    """Pins out of a lock file, each with the file name of its stand-in or nothing."""
    chosen = {}
    for block in lock.split("[[packages]]")[1:]:
        found = {key: re.search(r'(?m)^%s = "([^"]+)"' % key, block) for key in ("name", "version")}
        if found["name"] and found["version"]:
            stand_in = re.search(r"file:///[^\"]*/stand-ins/([^/\"]+\.whl)", block)
            pin = "%s==%s" % (found["name"].group(1), found["version"].group(1))
            chosen[pin] = stand_in.group(1) if stand_in else ""
    return chosen


def usual_index() -> str:
    """The index that the installer uses by itself."""
    said = " ".join(uv("pip", "install", "--help").stdout.split())
    found = re.search(r"\(by default: <(https?://[^>]+)>\)", said)
    if found is None:
        raise Failed("", "the installer does not say which index it uses")
    return found.group(1)


def main(arguments: List[str]) -> None:
    """Fetch for the environment of an interpreter, into a folder."""
    folder, python = arguments
    guarded(lambda: Fetching(folder, python).run())


if __name__ == "__main__":
    main(sys.argv[1:])
