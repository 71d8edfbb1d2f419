"""Where bundles go: a folder of the service with limits of size and age, or the one file a person named."""

import contextlib
import hashlib
import os
import re
import secrets
from pathlib import Path

from bot.domain.evidence import EvidenceLimits, KeptEvidence
from bot.errors import MetaAgentError, StoreError
from bot.evidence.bundle import write_bundle
from bot.evidence.claim import bundle_of
from bot.ports import Clock, OpenWorkspace
from bot.publish.story import Story
from sandbox.errors import SandboxError
from sandbox.types import Checkout

_NAME_CHARACTERS = 80
_DAY_S = 86_400
_HALF_WRITTEN = ".writing-"
_ABANDONED_S = 3600
"""A file half written so long ago belongs to nobody."""


class EvidenceFolder:
    """Keeps a bundle per mission; old and surplus ones give way.

    Args:
        folder: Nobody but this user can read it: bundles hold source.
        limits: Of one bundle, of all of them, and of their age.
        clock: Tells how old they are.
    """

    def __init__(self, folder: Path, limits: EvidenceLimits, clock: Clock) -> None:
        self._folder = folder
        self._limits = limits
        self._clock = clock

    async def keep(self, story: Story, checkout: Checkout, open_workspace: OpenWorkspace) -> KeptEvidence:
        """Write the bundle of a finished mission.

        Args:
            story: The mission as it will be told.
            checkout: The failing commit.
            open_workspace: Gives its files.

        Raises:
            SandboxError: the files cannot be had any more.
            StoreError: the folder cannot be written.
        """
        name = bundle_name(story.context.mission_id)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        kept = await keep_in_file(self._folder / name, story, checkout, open_workspace, limits=self._limits)
        self._make_room(name)
        return kept

    def _make_room(self, newest: str) -> None:
        """Take away what is too old, then the oldest until the rest fits."""
        now = self._clock.now().timestamp()
        found: list[tuple[float, int, Path]] = []
        for path in self._folder.iterdir():
            with contextlib.suppress(OSError):
                status = path.lstat()
                age = now - status.st_mtime
                if path.name.startswith(_HALF_WRITTEN) and age > _ABANDONED_S:
                    path.unlink()
                elif path.suffix == ".zip" and path.name != newest:
                    found.append((age, status.st_size, path))
        room = self._limits.total_bytes
        with contextlib.suppress(OSError):
            room -= (self._folder / newest).stat().st_size
        for age, size, path in sorted(found):
            room -= size
            if age > self._limits.days * _DAY_S or room < 0:
                with contextlib.suppress(OSError):
                    path.unlink()


class EvidenceFile:
    """Keeps one bundle in the file a person named, and tells what became of it.

    Args:
        path: Replaced when it is there.
        limits: Of one bundle.
    """

    def __init__(self, path: Path, limits: EvidenceLimits) -> None:
        self._path = path
        self._limits = limits
        self.kept = KeptEvidence(reason="the mission broke before it came to its end")

    async def keep(self, story: Story, checkout: Checkout, open_workspace: OpenWorkspace) -> KeptEvidence:
        """Write the bundle of a finished mission.

        Args:
            story: The mission as it will be told.
            checkout: The failing commit.
            open_workspace: Gives its files.
        """
        try:
            self.kept = await keep_in_file(self._path, story, checkout, open_workspace, limits=self._limits)
        except (SandboxError, MetaAgentError) as error:
            self.kept = KeptEvidence(reason=error.message)
        return self.kept


async def keep_in_file(
    path: Path, story: Story, checkout: Checkout, open_workspace: OpenWorkspace, *, limits: EvidenceLimits
) -> KeptEvidence:
    """Write the bundle of a finished mission into one file.

    Args:
        path: Replaced when it is there.
        story: The mission as it will be told.
        checkout: The failing commit.
        open_workspace: Gives its files; no sandbox is started for that.
        limits: Of one bundle.

    Raises:
        SandboxError: the files cannot be had any more.
        StoreError: the file cannot be written.
    """
    if bundle_of(story, b"") is None:
        return KeptEvidence(reason="the mission never came as far as a run, so there is nothing to run again")
    async with open_workspace(checkout) as workspace:
        archive = await workspace.archive()
    bundle = bundle_of(story, archive)
    content = write_bundle(bundle) if bundle is not None else b""
    if len(content) > limits.bundle_bytes:
        return KeptEvidence(reason=f"the bundle is larger than {limits.bundle_bytes} bytes (evidence.bundle_bytes)")
    write_atomically(path, content)
    return KeptEvidence(name=path.name, sha256=hashlib.sha256(content).hexdigest(), size=len(content))


def bundle_name(mission_id: str) -> str:
    """A mission's id as a file name that means nothing else anywhere."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", mission_id).strip("-")[:_NAME_CHARACTERS]
    if plain != mission_id:
        plain = f"{plain}-{hashlib.sha256(mission_id.encode('utf-8', 'replace')).hexdigest()[:8]}"
    return f"{plain}.zip"


def write_atomically(path: Path, content: bytes) -> None:
    """Whoever looks sees the old file or the whole new one; only this user can read it.

    Raises:
        StoreError: it cannot be written.
    """
    temporary = path.with_name(f"{_HALF_WRITTEN}{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise StoreError(f"{path} cannot be written ({error.strerror})", "check the folder and its room") from error
