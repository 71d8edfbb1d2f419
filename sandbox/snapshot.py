"""Set up an environment once, keep it as an image, and find it again by a key of everything that went into it."""

import asyncio
import hashlib
import io
import json
import platform
import re
import tarfile
import time
from collections.abc import Awaitable, Callable, Mapping
from posixpath import dirname

from sandbox.backends.base import Backend, Guest
from sandbox.errors import SetupFailed
from sandbox.gate import clean
from sandbox.spec import RunLimits, SandboxSpec
from sandbox.types import CommandResult, Fidelity, Frozen, Recipe, TrustTier

_VERSION = "2"
"""Raise when the way of installing changes: older environments are then not found."""
_ENV = {
    "UV_NO_PROGRESS": "1",
    "UV_NO_CONFIG": "1",
    "UV_PYTHON_DOWNLOADS": "never",
    # The root is read-only later: without this every start of pytest would compile all it imports anew.
    "UV_COMPILE_BYTECODE": "1",
}
_ONE_PYTHON = ("bookworm", "trixie")
_LOG_CHARACTERS = 4000
_PLACE = """
import os, shutil, sys, sysconfig
source, site = sys.argv[1], sysconfig.get_path("purelib")
for kind, target in (("site", site), ("bin", os.path.dirname(sys.executable))):
    for folder, _, names in os.walk(os.path.join(source, kind)):
        inner = os.path.join(target, os.path.relpath(folder, os.path.join(source, kind)))
        os.makedirs(inner, exist_ok=True)
        for name in names:
            if kind == "site" or not os.path.exists(os.path.join(inner, name)):
                shutil.copyfile(os.path.join(folder, name), os.path.join(inner, name))
                os.chmod(os.path.join(inner, name), 0o755 if kind == "bin" else 0o644)
"""


class Environment(Frozen):
    """An environment that is ready to be opened."""

    image: str
    key: str
    setup_s: float = 0.0
    warm: bool = False
    notes: tuple[Fidelity, ...] = ()
    """Where it differs from what the recipe asked for."""


class Origin(Frozen):
    """Whose code may run while an environment is set up."""

    repository_id: str
    tier: TrustTier


Materialize = Callable[[Guest], Awaitable[None]]
"""Puts the checkout into a guest."""


class Snapshotter:
    """Gives environments: found when they were set up before, set up once otherwise.

    Args:
        backend: Where they are set up and kept.
        spec: Limits, and the operator's package index and certificates.
    """

    def __init__(self, backend: Backend, spec: SandboxSpec) -> None:
        self._backend = backend
        self._spec = spec
        self._locks: dict[str, asyncio.Lock] = {}

    async def ensure(
        self,
        recipe: Recipe,
        origin: Origin,
        *,
        files: Mapping[str, str] | None = None,
        place: Materialize | None = None,
    ) -> Environment:
        """The environment of a recipe.

        Args:
            recipe: What to install.
            origin: Repository and trust tier, for environments in whose set-up repository code runs.
            files: `site/...` and `bin/...` files that make the checkout count as installed.
            place: Puts the checkout into the set-up sandbox, when set-up commands need it.

        Raises:
            SetupFailed: something could not be installed.
            SandboxUnavailable: there is no backend.
        """
        toolchain = await self._backend.ensure_toolchain()
        base = await self._backend.digest(toolchain)
        files = files or {}
        recipe = self._with_known_python(recipe)
        # A set-up that only unpacks wheels of named requirements runs no code of the repository, and its result is a
        # function of the lines in the key: the same environment serves every repository and tier, so that the first
        # run of a plain pytest repository finds it warm. As soon as anything is built or a set-up command runs, code
        # of others has run in there: then repository and tier are part of the key.
        shared = self._key(base, recipe, files, None)
        private = self._key(base, recipe, files, origin)
        async with self._locks.setdefault(shared, asyncio.Lock()):
            for key in (private,) if recipe.setup else (shared, private):
                if (image := await self._backend.find_environment(key)) is not None:
                    notes = _notes(recipe, files, built=key == private)
                    return Environment(image=image, key=key, warm=True, notes=notes)
            started = time.perf_counter()
            async with self._backend.open_setup(toolchain) as guest:
                built = await _Setup(guest, self._spec).install(recipe, files, place)
                key = private if built or recipe.setup else shared
                image = await self._backend.keep_environment(guest, key)
            notes = _notes(recipe, files, built=built)
            return Environment(image=image, key=key, setup_s=time.perf_counter() - started, notes=notes)

    def _with_known_python(self, recipe: Recipe) -> Recipe:
        """A toolchain built from Debian packages has one Python: whoever asks for it, or for another, shares it."""
        known = self._backend.name == "docker" and self._spec.image is None
        return recipe.with_(python=None) if known and self._spec.debian_suite in _ONE_PYTHON else recipe

    def _key(self, base: str, recipe: Recipe, files: Mapping[str, str], origin: Origin | None) -> str:
        parts = {
            "version": _VERSION,
            "base": base,
            "platform": platform.machine(),
            "python": recipe.python,
            "requirements": sorted(recipe.requirements),
            "setup": recipe.setup,
            "files": sorted(files.items()),
            "index": self._spec.index_url,
            "origin": origin.model_dump(mode="json") if origin is not None else None,
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class _Setup:
    """One set-up in one set-up sandbox."""

    def __init__(self, guest: Guest, spec: SandboxSpec) -> None:
        self._guest = guest
        self._spec = spec
        self._left_until = time.monotonic() + spec.setup_wall_s
        self._folder = ""
        self._scratch = f"{dirname(guest.workdir)}/setup"

    async def install(self, recipe: Recipe, files: Mapping[str, str], place: Materialize | None) -> bool:
        """Install everything; returns whether anything was built from source."""
        where = await self._run("/bin/sh", "-c", 'printf %s "$VIRTUAL_ENV"')
        self._folder = where.stdout
        await self._bring(recipe, files)
        await self._make_environment(recipe.python)
        built = await self._install_requirements(recipe)
        if files:
            command = (f"{self._folder}/bin/python", "-I", "-c", _PLACE, self._scratch)
            await self._check(await self._run(*command), "place the checkout")
        if recipe.setup and place is not None:
            await place(self._guest)
            for line in recipe.setup:
                await self._check(await self._run("/bin/sh", "-c", line, cwd=self._guest.workdir), line)
        return built

    async def _bring(self, recipe: Recipe, files: Mapping[str, str]) -> None:
        """Requirement lines and the checkout's metadata, as one archive."""
        lines = "".join(f"{line}\n" for line in recipe.requirements)
        bundle = {"requirements.txt": lines.encode(), **{name: text.encode() for name, text in files.items()}}
        await self._guest.unpack(pack(bundle), self._scratch)

    async def _make_environment(self, python: str | None) -> None:
        """With the Python asked for when the image has it, else with its own; the workspace sees which it became."""
        command = ("uv", "venv", "--allow-existing", "--no-project", "--python")
        if python is None or not (await self._run(*command, python, self._folder)).ok:
            await self._check(await self._run(*command, self._guest.python, self._folder), "make the environment")

    async def _install_requirements(self, recipe: Recipe) -> bool:
        """Wheels only; when some requirement has none, its source is built. Returns whether anything was built."""
        if not recipe.requirements:
            return False
        lines = ("-r", f"{self._scratch}/requirements.txt")
        command = ("uv", "pip", "install", "--python", f"{self._folder}/bin/python", *lines)
        wheels = await self._run(*command, "--only-binary", ":all:")
        if wheels.ok:
            return False
        if not _may_need_build(wheels):
            await self._check(wheels, "install the requirements")
        await self._check(await self._run(*command), "install the requirements")
        return True

    async def _run(self, *argv: str, cwd: str = "/") -> CommandResult:
        left = self._left_until - time.monotonic()
        limits = RunLimits(wall_s=max(left, 1.0))
        return await self._guest.run(argv, limits=limits, cwd=cwd, env=_ENV)

    async def _check(self, result: CommandResult, what: str) -> None:
        if result.ok:
            return
        log = clean(result.stdout + result.stderr, cap=_LOG_CHARACTERS)
        if result.timed_out:
            raise SetupFailed(f"Set-up took longer than {self._spec.setup_wall_s:g} s ({what}).", log=log)
        raise SetupFailed(f"Set-up failed: could not {what}.", "Read the set-up's output.", log=log)


def _notes(recipe: Recipe, files: Mapping[str, str], *, built: bool) -> tuple[Fidelity, ...]:
    """What is different from the job, the same for an environment just made and one found again."""
    notes = []
    if files:
        reason = "its folders are on the import path and its metadata is written from what it declares"
        notes.append(Fidelity(step="install the project", treatment="replaced", reason=reason))
    if built and not recipe.setup:
        reason = "some requirements have no wheel and were built from source"
        notes.append(Fidelity(step="install the requirements", treatment="replayed", reason=reason))
    return tuple(notes)


def _may_need_build(result: CommandResult) -> bool:
    """Whether a wheels-only install failed for want of a wheel, and not for want of the network or the package."""
    return not result.timed_out and re.search(r"wheel|no-binary|only-binary|no-build", result.stderr) is not None


def pack(files: Mapping[str, bytes]) -> bytes:
    """Files as a tar archive, the same bytes for the same files."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return raw.getvalue()
