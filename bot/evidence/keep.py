"""Storage of bundles: in the shared store, or in one file named by a person."""

import asyncio
import hashlib
import logging
import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from bot.blobs.folder import write_atomically
from bot.domain.blob import Blob, BlobKind, Drawer
from bot.domain.evidence import EvidenceBundle, EvidenceLimits, KeptEvidence
from bot.errors import MetaAgentError, UsageError
from bot.evidence.bundle import read_bundle, write_bundle
from bot.evidence.claim import build_bundle
from bot.ports import BlobStore, Clock, OpenWorkspace
from bot.publish.story import Story
from sandbox.errors import SandboxError
from sandbox.types import Checkout

_NAME_CHARACTERS = 80
_COUNTED_FOR = timedelta(minutes=10)
"""Time for which the total size of all bundles is cached; counting lists the whole store."""

log = logging.getLogger(__name__)


class EvidenceStore:
    """Stores one bundle per mission until its promised day; a bundle without room is not stored.

    Args:
        blobs: The store. Bundles contain source code, so only we may read them there.
        limits: Size limits, and the retention.
        clock: The clock for the age of bundles.
    """

    def __init__(self, blobs: BlobStore, limits: EvidenceLimits, clock: Clock) -> None:
        self._blobs = blobs
        self._limits = limits
        self._clock = clock
        self._counted_at: datetime | None = None
        self._bytes = 0

    async def keep(
        self, story: Story, checkout: Checkout, open_workspace: OpenWorkspace
    ) -> KeptEvidence:
        """Store the bundle of a finished mission.

        Args:
            story: The mission, prepared for publication.
            checkout: The failing commit.
            open_workspace: Opens a workspace on its files.

        Raises:
            SandboxError: the files are no longer available.
            StoreError: the store failed.
        """
        content = await _content(story, checkout, open_workspace, self._limits)
        if isinstance(content, KeptEvidence):
            return content
        if await self._stored_bytes() + len(content) > self._limits.total_bytes:
            log.warning(
                "evidence not stored: existing bundles fill evidence.total_bytes",
                extra={"mission": story.context.mission_id},
            )
            reason = f"all bundles together would exceed {self._limits.total_bytes} bytes"
            return KeptEvidence(
                reason=f"{reason} (evidence.total_bytes), and the stored ones have not expired"
            )
        mission = story.context.mission_id
        digest = await self._blobs.put(Drawer(kind=BlobKind.EVIDENCE, owner=mission), content)
        self._bytes += len(content)
        until = (self._clock.now() + timedelta(days=self._limits.days)).date().isoformat()
        return KeptEvidence(name=mission, sha256=digest, size=len(content), until=until)

    async def forget(self) -> int:
        """Delete expired bundles. Return their number."""
        # The promised day is included.
        oldest = self._clock.now() - timedelta(days=self._limits.days + 1)
        old = await self._blobs.list_blobs(BlobKind.EVIDENCE, before=oldest)
        await self._blobs.drop(old)
        return len(old)

    async def take_over(self, folder: Path) -> None:
        """Import the bundle files of earlier versions, which pull requests still name.

        Raises:
            StoreError: the store failed; the files stay.
        """
        for path in await asyncio.to_thread(lambda: sorted(folder.glob("*.zip"))):
            try:
                content = await asyncio.to_thread(path.read_bytes)
                mission = read_bundle(content).claim.mission_id
                await self._blobs.put(Drawer(kind=BlobKind.EVIDENCE, owner=mission), content)
                await asyncio.to_thread(path.unlink, missing_ok=True)
            except (OSError, UsageError) as error:
                log.warning("bundle file %s not imported: %s", path, error)

    async def _stored_bytes(self) -> int:
        now = self._clock.now()
        if self._counted_at is None or now - self._counted_at > _COUNTED_FOR:
            self._bytes = await self._blobs.total_bytes(BlobKind.EVIDENCE)
            self._counted_at = now
        return self._bytes


class EvidenceFile:
    """Stores one bundle in a file named by a person, and records the result.

    Args:
        path: The file; an existing one is replaced.
        limits: The size limit of a bundle.
    """

    def __init__(self, path: Path, limits: EvidenceLimits) -> None:
        self._path = path
        self._limits = limits
        self.kept = KeptEvidence(reason="the mission did not finish")

    async def keep(
        self, story: Story, checkout: Checkout, open_workspace: OpenWorkspace
    ) -> KeptEvidence:
        """Write the bundle of a finished mission.

        Args:
            story: The mission, prepared for publication.
            checkout: The failing commit.
            open_workspace: Opens a workspace on its files.
        """
        try:
            content = await _content(story, checkout, open_workspace, self._limits)
            if isinstance(content, KeptEvidence):
                self.kept = content
            else:
                write_atomically(self._path, content)
                digest = hashlib.sha256(content).hexdigest()
                self.kept = KeptEvidence(name=self._path.name, sha256=digest, size=len(content))
        except (SandboxError, MetaAgentError) as error:
            self.kept = KeptEvidence(reason=error.message)
        return self.kept


async def find_bundle(blobs: BlobStore, word: str) -> bytes:
    """Return a bundle by its mission, its SHA-256, or its file name in earlier versions.

    Args:
        blobs: The store.
        word: The name as shown in a pull request.

    Raises:
        UsageError: no bundle matches, or several do.
        StoreError: the store is unreachable, or the bundle is corrupt.
    """
    found: Sequence[Blob] = await blobs.list_blobs(BlobKind.EVIDENCE, word) if word else ()
    if not found:
        everything = await blobs.list_blobs(BlobKind.EVIDENCE)
        found = [
            blob for blob in everything if word in {blob.digest, bundle_name(blob.drawer.owner)}
        ]
    if not found:
        advice = (
            "name a file, or the mission or SHA-256 shown in the pull request; "
            "bundles expire after evidence.days"
        )
        raise UsageError(f"no file and no stored evidence is named {word!a}", advice)
    # Equal content under several names is not ambiguous.
    if len({blob.digest for blob in found}) > 1:
        digests = ", ".join(blob.digest for blob in found)
        raise UsageError(
            f"{word!a} matches {len(found)} bundles", f"name one by its SHA-256: {digests}"
        )
    return await blobs.get(found[0].drawer, found[0].digest)


def bundle_name(mission_id: str) -> str:
    """Return the file name of a mission's bundle in earlier versions."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", mission_id).strip("-")[:_NAME_CHARACTERS]
    if plain != mission_id:
        plain = f"{plain}-{hashlib.sha256(mission_id.encode('utf-8', 'replace')).hexdigest()[:8]}"
    return f"{plain}.zip"


async def _content(
    story: Story, checkout: Checkout, open_workspace: OpenWorkspace, limits: EvidenceLimits
) -> bytes | KeptEvidence:
    """Return the bundle of a finished mission, or the reason for having none.

    Reading the files of the checkout starts no sandbox.

    Raises:
        SandboxError: the files are no longer available.
    """
    if build_bundle(story, b"") is None:
        return KeptEvidence(
            reason="the mission ended before its first run, so there is nothing to replay"
        )
    async with open_workspace(checkout) as workspace:
        archive = await workspace.archive()
    bundle: EvidenceBundle | None = build_bundle(story, archive, checkout.name)
    content = write_bundle(bundle) if bundle is not None else b""
    if len(content) > limits.bundle_bytes:
        return KeptEvidence(
            reason=f"the bundle is larger than {limits.bundle_bytes} bytes (evidence.bundle_bytes)"
        )
    return content
