"""The bundle file: a zip of fixed members, written reproducibly and read as untrusted input."""

import hashlib
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, ValidationError

from bot import __version__
from bot.domain.evidence import MIB, Claim, EvidenceBundle
from bot.errors import UsageError
from sandbox.types import Frozen

FORMAT = "metaagent-evidence"
VERSION = 1
MANIFEST, EVIDENCE, CLAIM, DIFF, CHECKOUT = (
    "manifest.json",
    "evidence.json",
    "claim.json",
    "fix.diff",
    "checkout.tar",
)
CAPS = {MANIFEST: MIB, EVIDENCE: 16 * MIB, CLAIM: 64 * MIB, DIFF: 16 * MIB, CHECKOUT: 512 * MIB}
"""Largest size of each member, unpacked, in bytes. Other members are refused.

A small zip file can unpack to any size.
"""
REQUIRED = (MANIFEST, EVIDENCE, CLAIM, CHECKOUT)
# A fixed date, the earliest in a zip, so that equal content gives equal bytes.
_WHEN = (1980, 1, 1, 0, 0, 0)
_DIRECTORY_BYTES = 4096
"""Largest directory; the five members need a few hundred bytes."""
_END = struct.Struct("<4s4H2LH")
"""The end of central directory record of the zip format (APPNOTE 4.3.16), without a comment."""
_LARGE_BYTES = 20
"""Size of the Zip64 locator (APPNOTE 4.3.15). Before the end record, it would override it."""
_ZIP_TROUBLE = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError, EOFError, OSError, IndexError),
)
"""Errors that zipfile raises for a malformed file."""
_FETCH = "fetch the bundle again from its source; nothing in it was used"


class _Member(Frozen):
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    size: int = Field(ge=0)


class _Manifest(Frozen):
    format: Literal["metaagent-evidence"]
    version: Literal[1]
    made_by: str = ""
    mission_id: str
    members: dict[str, _Member]
    notes: tuple[str, ...] = ()


def write_bundle(bundle: EvidenceBundle) -> bytes:
    """Return the bundle as a file; equal content gives equal bytes."""
    members = {
        CHECKOUT: bundle.checkout,
        CLAIM: _json(bundle.claim.model_dump(mode="json")),
        EVIDENCE: _json(bundle.evidence),
        # Files in a diff need not be UTF-8.
        **({DIFF: bundle.diff.encode("utf-8", "surrogateescape")} if bundle.diff else {}),
    }
    manifest = _Manifest(
        format="metaagent-evidence",
        version=1,
        made_by=f"metaagent {__version__}",
        mission_id=bundle.claim.mission_id,
        members={
            n: _Member(sha256=hashlib.sha256(c).hexdigest(), size=len(c))
            for n, c in sorted(members.items())
        },
        notes=bundle.notes,
    )
    members[MANIFEST] = _json(manifest.model_dump(mode="json"))
    return _zip(members)


def read_bundle(raw: bytes) -> EvidenceBundle:
    """Read a bundle from an untrusted file.

    Raises:
        UsageError: it is no bundle, damaged, changed, of another version or too large.
    """
    members = _members(raw)
    manifest = _manifest(members.pop(MANIFEST))
    if set(manifest.members) != set(members):
        raise _refused("its members differ from its manifest")
    for name, content in members.items():
        stated = manifest.members[name]
        if stated.size != len(content) or stated.sha256 != hashlib.sha256(content).hexdigest():
            raise _refused(f"{name} does not match the manifest: it was changed or damaged")
    try:
        claim = Claim.model_validate_json(members[CLAIM])
        evidence = _object(members[EVIDENCE])
        diff = members.get(DIFF, b"").decode("utf-8", "surrogateescape")
    # Deeply nested JSON raises RecursionError.
    except (ValidationError, ValueError, TypeError, RecursionError) as error:
        raise _refused("its claim is malformed") from error
    if claim.mission_id != manifest.mission_id:
        raise _refused("its manifest and its claim name different missions")
    return EvidenceBundle(
        claim=claim, evidence=evidence, checkout=members[CHECKOUT], diff=diff, notes=manifest.notes
    )


def _zip(members: Mapping[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        for name in sorted(members):
            entry = zipfile.ZipInfo(name, _WHEN)
            # The upper half holds the Unix mode.
            entry.external_attr = 0o600 << 16
            # Unix on every host; zipfile would record the platform.
            entry.create_system = 3
            archive.writestr(entry, members[name], zipfile.ZIP_DEFLATED, 6)
    return raw.getvalue()


def _members(raw: bytes) -> dict[str, bytes]:
    """Return every member, unpacked within its limit."""
    _check_directory(raw)
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            entries = archive.infolist()
            names = [entry.filename for entry in entries]
            # Of two members with one name, readers disagree which one counts.
            if len(set(names)) != len(names) or not set(REQUIRED) <= set(names) <= set(CAPS):
                raise _refused("its members are not those of an evidence bundle")
            return {entry.filename: _unpack(archive, entry) for entry in entries}
    except _ZIP_TROUBLE as error:
        raise _refused("it is not a readable zip file") from error


def _unpack(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Unpack one member without trusting the size in its header."""
    cap = CAPS[entry.filename]
    if entry.file_size > cap:
        raise _refused(f"{entry.filename} is larger than {cap} bytes")
    if entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED} or entry.flag_bits & 1:
        raise _refused(f"{entry.filename} is encrypted or packed in an unusual way")
    with archive.open(entry) as file:
        # Bounded, because a hostile header may understate the size.
        content = file.read(cap + 1)
    if len(content) != entry.file_size:
        raise _refused(f"{entry.filename} has another size than its header states")
    return content


def _check_directory(raw: bytes) -> None:
    """Require a plain zip: no comment, no leading data, one small directory at the end.

    Zip readers disagree on other files, so each could see different members.
    """
    end = raw[-_END.size :]
    if len(end) < _END.size or not end.startswith(b"PK\x05\x06"):
        raise _refused("it is not a zip file, or it is cut off")
    _, disk, first_disk, here, count, size, offset, comment = _END.unpack(end)
    plain = (
        (disk, first_disk, comment) == (0, 0, 0)
        and here == count <= len(CAPS)
        and size <= _DIRECTORY_BYTES
    )
    if raw[-_END.size - _LARGE_BYTES : -_END.size].startswith(b"PK\x06\x07"):
        raise _refused("it has a second directory")
    if not plain or offset + size + _END.size != len(raw):
        raise _refused("its directory has an unexpected form")


def _manifest(raw: bytes) -> _Manifest:
    try:
        found = _object(raw)
    except (ValueError, TypeError, RecursionError) as error:
        raise _refused("its manifest is not JSON") from error
    if found.get("format") != FORMAT:
        raise _refused("its manifest is not that of an evidence bundle")
    if found.get("version") != VERSION:
        raise UsageError(
            f"this evidence bundle has version {ascii(found.get('version'))[:20]}; "
            f"only {VERSION} is supported",
            "replay it with the version of MetaAgent that wrote it",
        )
    try:
        return _Manifest.model_validate(found)
    except ValidationError as error:
        raise _refused("its manifest is malformed") from error


def _object(raw: bytes) -> dict[str, Any]:
    found = json.loads(raw)
    if not isinstance(found, dict):
        raise TypeError("not an object")
    return found


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, indent=1).encode()


def _refused(why: str) -> UsageError:
    return UsageError(f"this evidence bundle cannot be used: {why}", _FETCH)
