"""Run npm in a set-up sandbox, without any configuration of the repository."""

from collections.abc import Mapping
from posixpath import dirname

from sandbox.backends.base import Backend
from sandbox.errors import SetupFailed
from sandbox.setup.shell import Shell
from sandbox.types import CommandResult

_SETTINGS = {
    "audit": "false",
    "fund": "false",
    "update_notifier": "false",
    "ignore_scripts": "true",
    "fetch_retries": "1",
    # A lock file may name the mirror of the machine that wrote it.
    "replace_registry_host": "always",
}
# Certificates of the operator are added to those of Node.js. Yarn has its own words for a proxy.
_TRUSTING = (
    'export NODE_EXTRA_CA_CERTS="${SSL_CERT_FILE:-}"; '
    'proxy="${HTTPS_PROXY:-${https_proxy:-}}"; '
    '[ -z "$proxy" ] || export YARN_HTTPS_PROXY="$proxy" YARN_HTTP_PROXY="$proxy"; exec "$@"'
)
_NO_DOWNLOADS = {
    "PUPPETEER_SKIP_DOWNLOAD": "1",
    "PUPPETEER_SKIP_CHROMIUM_DOWNLOAD": "1",
    "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1",
    "CYPRESS_INSTALL_BINARY": "0",
    "ELECTRON_SKIP_BINARY_DOWNLOAD": "1",
    "SENTRYCLI_SKIP_DOWNLOAD": "1",
    "HUSKY": "0",
}
"""Variables with which install scripts do not even try to reach the network."""


class Npm:
    """One npm in a set-up sandbox.

    Args:
        shell: The sandbox.
        node: Path of the Node.js program.
        script: Path of npm's script.
        registry: The registry's address; None for npm's default.
    """

    def __init__(self, shell: Shell, node: str, script: str, registry: str | None) -> None:
        self._shell = shell
        self._node = node
        self._start = ("/bin/sh", "-c", _TRUSTING, "sh", node)
        self._script = script
        # Two different files that do not exist: settings of other users and of the image could
        # name another registry.
        none = f"{shell.folder}/node/none"
        places = {
            "cache": f"{shell.folder}/node/cache",
            "userconfig": f"{none}/user",
            "globalconfig": f"{none}/global",
        }
        settings = {**_SETTINGS, **places, **({"registry": registry} if registry else {})}
        self._env = {f"npm_config_{name}": value for name, value in settings.items()}

    async def run(self, *arguments: str, cwd: str = "/", scripts: bool = False) -> CommandResult:
        """Run npm.

        Args:
            arguments: Its arguments.
            cwd: The folder of a `package.json`.
            scripts: Whether packages may run their install scripts.
        """
        env = dict(self._env)
        if scripts:
            # The headers of Node.js are beside its program; node-gyp would download them.
            home = dirname(dirname(self._node))
            env |= {"npm_config_ignore_scripts": "false", "npm_config_nodedir": home}
            env |= _NO_DOWNLOADS
        return await self._shell.run(*self._start, self._script, *arguments, cwd=cwd, env=env)

    async def run_script(self, name: str, *, cwd: str) -> CommandResult:
        """Run an install script of a package; `node-gyp` is what npm runs without any."""
        if name != "node-gyp":
            return await self.run("run", name, cwd=cwd, scripts=True)
        script = f"{dirname(dirname(self._script))}/node_modules/node-gyp/bin/node-gyp.js"
        home = dirname(dirname(self._node))
        command = (*self._start, script, "rebuild", f"--nodedir={home}")
        return await self._shell.run(*command, cwd=cwd, env=self._env)

    async def run_other(
        self, program: tuple[str, ...], *, cwd: str, env: Mapping[str, str]
    ) -> CommandResult:
        """Run another package manager with npm's settings, which all of them read.

        Args:
            program: Its path and arguments; all but bun are scripts.
            cwd: The folder of a `package.json`.
            env: Its own settings.
        """
        is_script = not program[0].endswith("/bun")
        start = self._start if is_script else self._start[:-1]
        return await self._shell.run(*start, *program, cwd=cwd, env={**self._env, **env})

    async def open_registry(self, backend: Backend) -> str:
        """Allow the set-up to reach the registry, and return its address.

        The operator's registry is allowed already, so that only npm's default is asked for. No
        untrusted code has run in this sandbox yet.

        Raises:
            SetupFailed: npm does not start.
        """
        if "npm_config_registry" in self._env:
            return self._env["npm_config_registry"]
        asked = await self.run("config", "get", "registry")
        await self._shell.check(asked, "start npm")
        registry = asked.stdout.strip()
        if not registry.startswith("https://"):
            raise SetupFailed("Set-up failed: npm names no registry.", "Set sandbox.npm_registry.")
        await backend.allow_hosts(self._shell.guest, (registry,))
        return registry
