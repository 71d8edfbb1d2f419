"""The bundle as a file: a zip of a few fixed members, written the same for the same content, read as hostile."""

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
MANIFEST, EVIDENCE, CLAIM, DIFF, CHECKOUT = "manifest.json", "evidence.json", "claim.json", "fix.diff", "checkout.tar"
CAPS = {MANIFEST: MIB, EVIDENCE: 16 * MIB, CLAIM: 64 * MIB, DIFF: 16 * MIB, CHECKOUT: 512 * MIB}
"""The largest each member may be, unpacked. No other member is known."""
REQUIRED = (MANIFEST, EVIDENCE, CLAIM, CHECKOUT)
_WHEN = (1980, 1, 1, 0, 0, 0)
_DIRECTORY_BYTES = 4096
_END = struct.Struct("<4s4H2LH")
_LARGE_BYTES = 20
"""What points to the directory of a very large zip stands so far before the end, and overrules it."""
_ZIP_TROUBLE = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error),
    *(NotImplementedError, RuntimeError, ValueError, OverflowError, EOFError, OSError, IndexError),
)
"""What a malformed zip makes the reader raise."""
_FETCH = "take the bundle again from where the mission ran; nothing of it was used"


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
    """The bundle as a file; the same content gives the same bytes."""
    members = {
        CHECKOUT: bundle.checkout,
        CLAIM: _json(bundle.claim.model_dump(mode="json")),
        EVIDENCE: _json(bundle.evidence),
        **({DIFF: bundle.diff.encode("utf-8", "surrogateescape")} if bundle.diff else {}),
    }
    manifest = _Manifest(
        format="metaagent-evidence",
        version=1,
        made_by=f"metaagent {__version__}",
        mission_id=bundle.claim.mission_id,
        members={n: _Member(sha256=hashlib.sha256(c).hexdigest(), size=len(c)) for n, c in sorted(members.items())},
        notes=bundle.notes,
    )
    members[MANIFEST] = _json(manifest.model_dump(mode="json"))
    return _zipped(members)


def read_bundle(raw: bytes) -> EvidenceBundle:
    """The bundle in a file that anybody may have written.

    Raises:
        UsageError: it is no bundle, is damaged or was changed, is of another version, or over a limit.
    """
    members = _members(raw)
    manifest = _manifest(members.pop(MANIFEST))
    if set(manifest.members) != set(members):
        raise _refused("its members are not those its manifest lists")
    for name, content in members.items():
        said = manifest.members[name]
        if said.size != len(content) or said.sha256 != hashlib.sha256(content).hexdigest():
            raise _refused(f"{name} is not what the manifest says: it was changed or damaged")
    try:
        claim = Claim.model_validate_json(members[CLAIM])
        evidence = _object(members[EVIDENCE])
        diff = members.get(DIFF, b"").decode("utf-8", "surrogateescape")
    except (ValidationError, ValueError, TypeError, RecursionError) as error:
        raise _refused("what it claims is not in the form of a claim") from error
    if claim.mission_id != manifest.mission_id:
        raise _refused("its manifest and its claim name different missions")
    return EvidenceBundle(claim=claim, evidence=evidence, checkout=members[CHECKOUT], diff=diff, notes=manifest.notes)


def _zipped(members: Mapping[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        for name in sorted(members):
            entry = zipfile.ZipInfo(name, _WHEN)
            entry.external_attr = 0o600 << 16
            entry.create_system = 3
            archive.writestr(entry, members[name], zipfile.ZIP_DEFLATED, 6)
    return raw.getvalue()


def _members(raw: bytes) -> dict[str, bytes]:
    """Every member, unpacked within its limit."""
    _check_directory(raw)
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            entries = archive.infolist()
            names = [entry.filename for entry in entries]
            if len(set(names)) != len(names) or not set(REQUIRED) <= set(names) <= set(CAPS):
                raise _refused("it does not hold the members of an evidence bundle")
            return {entry.filename: _unpacked(archive, entry) for entry in entries}
    except _ZIP_TROUBLE as error:
        raise _refused("it is not a readable zip file") from error


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """One member; what its header says about its size is not believed."""
    cap = CAPS[entry.filename]
    if entry.file_size > cap:
        raise _refused(f"{entry.filename} is larger than {cap} bytes")
    if entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED} or entry.flag_bits & 1:
        raise _refused(f"{entry.filename} is encrypted or packed in an unusual way")
    with archive.open(entry) as file:
        content = file.read(cap + 1)
    if len(content) != entry.file_size:
        raise _refused(f"{entry.filename} is not as long as it says")
    return content


def _check_directory(raw: bytes) -> None:
    """A plain zip with a small directory at its very end: no comment, nothing before it, no second directory."""
    end = raw[-_END.size :]
    if len(end) < _END.size or not end.startswith(b"PK\x05\x06"):
        raise _refused("it is not a zip file, or it is cut off")
    _, disk, first_disk, here, count, size, offset, comment = _END.unpack(end)
    plain = (disk, first_disk, comment) == (0, 0, 0) and here == count <= len(CAPS) and size <= _DIRECTORY_BYTES
    if raw[-_END.size - _LARGE_BYTES : -_END.size].startswith(b"PK\x06\x07"):
        raise _refused("it has a second directory")
    if not plain or offset + size + _END.size != len(raw):
        raise _refused("its directory is not that of an evidence bundle")


def _manifest(raw: bytes) -> _Manifest:
    try:
        found = _object(raw)
    except (ValueError, TypeError, RecursionError) as error:
        raise _refused("its manifest is not JSON") from error
    if found.get("format") != FORMAT:
        raise _refused("its manifest is not that of an evidence bundle")
    if found.get("version") != VERSION:
        raise UsageError(
            f"this evidence bundle is of version {ascii(found.get('version'))[:20]}, and only {VERSION} is known here",
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
