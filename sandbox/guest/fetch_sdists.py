"""Fetch everything for an environment with requirements without wheels, running none of it.

The installer resolves wheels only. Projects without one get stand-ins: wheels that only contain the
metadata of the source distribution. Chosen wheels are installed. Source distributions and their
build tools are fetched into a folder each, for `build_sdists` to build without network.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from typing import Any, Dict, List, Sequence, Set

from sandbox.guest.source_index import Index, NotGiven, SourceDistribution, normal_name
from sandbox.guest.source_metadata import Described, describe
from sandbox.guest.unavailable import read_unavailable

ROUNDS = 60
MAX_VERSIONS = 2000
PLAN = "plan.json"
RESULTS = 3
_NO_WHEEL = re.compile(
    r"Wheels are required for `([A-Za-z0-9._-]+)`"
    # A name, perhaps with a marker and bounds; a version alone is no name.
    r"|(?<!\S)(?!\d+\.\d)([A-Za-z0-9][A-Za-z0-9._-]*)(?:\{[^{}]*\})?(?:[<>=!~]\S*)?"
    r" ha(?:s|ve) no (?:usable )?wheels"
)
_NAME_OF_LINE = re.compile(r"(?m)^[A-Za-z0-9][A-Za-z0-9._-]*")


class Failed(Exception):
    """A failed fetch or build.

    Args:
        package: The package; empty if it is unknown.
        reason: What failed.
        log: Output of the failed program.
        requested: The requested packages that need it, if it cannot be installed at all; empty
            if another attempt or other versions may help.
    """

    def __init__(
        self, package: str, reason: str, log: str = "", *, requested: Sequence[str] = ()
    ) -> None:
        Exception.__init__(self, reason)
        self.package = package
        self.reason = reason
        self.log = log
        self.requested = list(requested)


def installer() -> str:
    """Return the toolchain's installer.

    A package of the environment may install a program with its name.
    """
    # The environment's folder may come first on PATH, and its programs are untrusted.
    theirs = os.path.join(os.environ.get("VIRTUAL_ENV", ""), "bin")
    folders = [
        folder for folder in os.environ.get("PATH", "").split(os.pathsep) if folder != theirs
    ]
    return shutil.which("uv", path=os.pathsep.join(folders)) or "uv"


def uv(*arguments: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run the installer."""
    env = dict(os.environ, **variables)
    return subprocess.run(
        (installer(), *arguments), capture_output=True, text=True, env=env, check=False
    )


def send_result(answer: Dict[str, Any]) -> None:
    """Write the result to the results channel."""
    data = json.dumps(answer).encode("ascii")
    while data:
        data = data[os.write(RESULTS, data) :]


def run_and_report(work: "Any") -> None:
    """Run a function and report its result or failure."""
    try:
        send_result(work())
    except Failed as error:
        print(error.log, file=sys.stderr)
        send_result(
            {"package": error.package, "reason": error.reason, "requested": error.requested}
        )
        sys.exit(1)


def names_without_wheel(output: str) -> Set[str]:
    """Return the projects without a wheel according to the installer's output."""
    # The installer wraps its messages to the width of a terminal.
    text = " ".join(output.split())
    return {normal_name(one or other) for one, other in _NO_WHEEL.findall(text)} - {
        "versions",
        "which",
    }


class Fetching:
    """The state of one fetch.

    Args:
        folder: The folder with the requirements.
        python: The interpreter of the environment.
    """

    def __init__(self, folder: str, python: str) -> None:
        self._folder = folder
        self._python = python
        self._index = Index(os.environ.get("UV_DEFAULT_INDEX") or default_index())
        self._offered: Dict[str, SourceDistribution] = {}
        self._fetched: Dict[str, Described] = {}
        self._names: Set[str] = set()
        self._room = work_folder(folder)
        for name in ("stand-ins", "sdists", "built", "tools"):
            os.makedirs(self._path(name), exist_ok=True)

    def run(self) -> Dict[str, Any]:
        """Resolve, fetch, and install the wheels."""
        chosen = self._resolve()
        pins = [pin for pin, stand_in in chosen.items() if not stand_in]
        if pins:
            self._install("the wheels", self._python, *pins, "--no-deps")
        plan = []
        requested = self._find_requested(chosen)
        # Sorted, so that builds have the same order in each run.
        for number, stand_in in enumerate(sorted(filter(None, chosen.values()))):
            source = self._offered[stand_in]
            tools = os.path.join(self._path("tools"), str(number))
            self._make_tools(source, self._fetched[stand_in], tools, requested[source.name])
            plan.append(
                {
                    "name": source.name,
                    "version": source.version,
                    "file": source.file,
                    "tools": tools,
                    "requested": requested[source.name],
                }
            )
        with open(self._path(PLAN), "w") as file:
            json.dump(plan, file)
        return {"sources": ["%s==%s" % (source["name"], source["version"]) for source in plan]}

    def _resolve(self) -> Dict[str, str]:
        """Return the pins to install, each with its stand-in if it has no wheel."""
        for _ in range(ROUNDS):
            done = self._compile("--format", "pylock.toml")
            # The installer names the projects without a wheel: offer stand-ins for them, and
            # resolve again.
            if done.returncode:
                names = names_without_wheel(done.stderr) - self._names
                if not names:
                    raise Failed(
                        "",
                        "the requirements cannot be resolved",
                        done.stderr,
                        requested=_blamed(done.stderr),
                    )
                for name in sorted(names):
                    self._offer(name, done.stderr)
                continue
            chosen = parse_lock(done.stdout)
            # A stand-in is first offered without requirements: fetch it, and resolve again with
            # them.
            unknown = [
                stand_in
                for stand_in in chosen.values()
                if stand_in and stand_in not in self._fetched
            ]
            if not unknown:
                return chosen
            for stand_in in unknown:
                self._fetch(stand_in)
        raise Failed("", "the requirements could not be resolved in %d rounds" % ROUNDS)

    def _compile(self, *options: str) -> "subprocess.CompletedProcess[str]":
        """Let the installer choose versions, among wheels and stand-ins only."""
        return uv(
            *("pip", "compile", "--python", self._python, "--only-binary", ":all:", "--no-header"),
            *("--find-links", self._path("stand-ins"), self._input_path("requirements.txt")),
            *self._constraints(),
            *options,
        )

    def _find_requested(self, chosen: Dict[str, str]) -> Dict[str, List[str]]:
        """Return the requested packages that need each package without a wheel."""
        with open(self._input_path("requirements.txt")) as file:
            asked = {normal_name(line.group()) for line in re.finditer(_NAME_OF_LINE, file.read())}
        names = {self._offered[stand_in].name for stand_in in chosen.values() if stand_in}
        found = {name: [name] for name in names & asked}
        if names - asked:
            parents = parse_parents(self._compile("--annotation-style", "line").stdout)
            found.update({name: find_roots(name, parents) for name in names - asked})
        return found

    def _offer(self, name: str, said: str) -> None:
        """Create stand-ins for every version of a project that only has a source distribution.

        Args:
            name: The project.
            said: The installer's message that names it.
        """
        self._names.add(name)
        with open(self._input_path("requirements.txt")) as file:
            wanted = file.read()
        try:
            sources = self._index.sources(name)
        except NotGiven as error:
            raise Failed(name, str(error)) from error
        # A yanked version is for those only who pin it.
        stay = [
            source for source in sources if not source.yanked or "==" + source.version in wanted
        ]
        if not stay:
            raise Failed(
                name,
                "the index has neither a usable wheel nor a usable source distribution of it",
                requested=_blamed(said),
            )
        for source in stay[-MAX_VERSIONS:]:
            self._offered[self._stand_in(source, Described([], [], []), 0)] = source

    def _fetch(self, stand_in: str) -> None:
        """Fetch a chosen source distribution, and add its requirements to its stand-in."""
        source = self._offered.pop(stand_in)
        path = os.path.join(self._path("sdists"), source.file)
        try:
            self._index.fetch(source, path)
            described = describe(path)
        except (NotGiven, ValueError, OSError) as error:
            raise Failed(source.name, "its source distribution is unusable: %s" % error) from error
        os.unlink(os.path.join(self._path("stand-ins"), stand_in))
        known = self._stand_in(source, described, 1)
        self._offered[known] = source
        self._fetched[known] = described

    def _stand_in(self, source: SourceDistribution, described: Described, build: int) -> str:
        """Write a wheel with metadata only, and return its file name."""
        escaped = source.name.replace("-", "_")
        file = "%s-%s-%d-py3-none-any.whl" % (escaped, source.version, build)
        info = "%s-%s.dist-info/" % (escaped, source.version)
        lines = ["Metadata-Version: 2.1", "Name: " + source.name, "Version: " + source.version]
        lines += ["Requires-Python: " + source.requires_python] if source.requires_python else []
        lines += ["Provides-Extra: " + extra for extra in described.extras]
        lines += ["Requires-Dist: " + line for line in described.requires]
        with zipfile.ZipFile(os.path.join(self._path("stand-ins"), file), "w") as wheel:
            wheel.writestr(info + "METADATA", "\n".join(lines) + "\n")
            wheel.writestr(
                info + "WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
            )
            wheel.writestr(info + "RECORD", "")
        return file

    def _make_tools(
        self,
        source: SourceDistribution,
        described: Described,
        folder: str,
        requested: Sequence[str],
    ) -> None:
        """Create an environment with the build tools, from wheels."""
        made = uv("venv", "--quiet", "--no-project", "--python", self._python, folder)
        if made.returncode:
            raise Failed(source.name, "creating its build environment failed", made.stderr)
        if described.build:
            python = os.path.join(folder, "bin", "python")
            self._install(
                "its build requirements",
                python,
                *described.build,
                package=source.name,
                requested=requested,
            )

    def _install(
        self,
        what: str,
        python: str,
        *wanted: str,
        package: str = "",
        requested: Sequence[str] = (),
    ) -> None:
        done = uv(
            "pip", "install", "--quiet", "--only-binary", ":all:", "--python", python, *wanted
        )
        if done.returncode:
            # Other errors, such as those of a connection, may pass.
            lasting = read_unavailable(done.stderr) is not None
            raise Failed(
                package,
                "%s: not available as wheels" % what,
                done.stderr,
                requested=requested if lasting else (),
            )

    def _constraints(self) -> List[str]:
        # The host always writes the file, and an empty one means no constraints.
        path = self._input_path("constraints.txt")
        return ["--constraint", path] if os.path.getsize(path) else []

    def _input_path(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def _path(self, name: str) -> str:
        return os.path.join(self._room, name)


def work_folder(folder: str) -> str:
    """Return the folder for sources and tools: beside the installer's cache, which is on disk."""
    cache = os.environ.get("UV_CACHE_DIR")
    return os.path.join(os.path.dirname(cache), "metaagent-sources") if cache else folder


def parse_lock(lock: str) -> Dict[str, str]:
    """Parse the pins of a lock file, each with the file name of its stand-in, if any."""
    chosen = {}
    for block in lock.split("[[packages]]")[1:]:
        found = {key: re.search(r'(?m)^%s = "([^"]+)"' % key, block) for key in ("name", "version")}
        if found["name"] and found["version"]:
            stand_in = re.search(r"file:///[^\"]*/stand-ins/([^/\"]+\.whl)", block)
            pin = "%s==%s" % (found["name"].group(1), found["version"].group(1))
            chosen[pin] = stand_in.group(1) if stand_in else ""
    return chosen


def parse_parents(annotated: str) -> Dict[str, List[str]]:
    """Parse a list of pins: each package with those that need it, or with the input file."""
    lines = re.findall(r"(?m)^([A-Za-z0-9._-]+)==\S+ +# via (.+)$", annotated)
    return {normal_name(name): parents.split(", ") for name, parents in lines}


def find_roots(name: str, parents: Dict[str, List[str]]) -> List[str]:
    """Return the requested packages that need a package, directly or through others."""
    found, left = [name], [name]
    while left:
        more = [normal_name(one) for one in parents.get(left.pop(), []) if one[0] != "-"]
        more = [one for one in dict.fromkeys(more) if one not in found]
        found += more
        left += more
    is_root = {one: any(via.startswith("-r ") for via in parents.get(one, [])) for one in found}
    return sorted(one for one in found if is_root[one])


def _blamed(said: str) -> List[str]:
    found = read_unavailable(said)
    return [] if found is None else [found.name]


def default_index() -> str:
    """Return the installer's default index."""
    output = " ".join(uv("pip", "install", "--help").stdout.split())
    found = re.search(r"\(by default: <(https?://[^>]+)>\)", output)
    if found is None:
        raise Failed("", "the installer's default index is unknown")
    return found.group(1)


def main(arguments: List[str]) -> None:
    """Fetch for the environment of an interpreter, into a folder."""
    folder, python = arguments
    run_and_report(lambda: Fetching(folder, python).run())


if __name__ == "__main__":
    main(sys.argv[1:])
