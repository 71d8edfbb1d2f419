"""Run npm in a set-up sandbox, without any configuration of the repository."""

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
}
# Certificates of the operator are added to those of Node.js.
_TRUSTING = 'export NODE_EXTRA_CA_CERTS="${SSL_CERT_FILE:-}"; exec "$@"'


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
        self._start = ("/bin/sh", "-c", _TRUSTING, "sh", node, script)
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
        env = self._env | ({"npm_config_ignore_scripts": "false"} if scripts else {})
        return await self._shell.run(*self._start, *arguments, cwd=cwd, env=env)

    async def open_registry(self, backend: Backend) -> None:
        """Allow the set-up to reach the registry.

        The operator's registry is allowed already, so that only npm's default is asked for. No
        untrusted code has run in this sandbox yet.

        Raises:
            SetupFailed: npm does not start.
        """
        if "npm_config_registry" in self._env:
            return
        asked = await self.run("config", "get", "registry")
        await self._shell.check(asked, "start npm")
        registry = asked.stdout.strip()
        if not registry.startswith("https://"):
            raise SetupFailed("Set-up failed: npm names no registry.", "Set sandbox.npm_registry.")
        await backend.allow_hosts(self._shell.guest, (registry,))
