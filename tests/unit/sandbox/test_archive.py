"""A tar archive that anybody may have written comes in as plain files, or not at all; nothing is unpacked here."""

import io
import tarfile
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.archive import take_archive
from sandbox.checkout import FolderContents
from sandbox.diffs import Original
from sandbox.errors import ImportRejected
from sandbox.spec import SandboxSpec

pytestmark = pytest.mark.anyio
SPEC = SandboxSpec()


def packed(*entries: tuple[str, bytes], **fields: Any) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in entries:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            for field, value in fields.items():
                setattr(entry, field, value)
            archive.addfile(entry, io.BytesIO(content))
    return raw.getvalue()


async def test_what_was_archived_comes_back_byte_for_byte() -> None:
    files = {
        "run.sh": Original(content=b"#!/bin/sh\n", mode="100755"),
        "pkg/ü.py": Original(content=b"\xff\x00"),
        "empty": Original(content=b""),
        ".gitattributes": Original(content=b"* text\n"),
        "routes/[id].tsx": Original(content=b"x"),
        f"deep/{'d' * 150}/{'e' * 150}.py": Original(content=b"y"),
    }
    archive = await FolderContents.of(files).archive()
    taken = await take_archive(archive, SPEC)
    assert await taken.originals(taken.names()) == files
    assert await taken.archive() == archive


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "/etc/passwd",
        "a/../../x",
        "./x",
        "a//b",
        "a/./b",
        ".git/hooks/pre-commit",
        "sub/.GIT/config",
        "x" * 2000,
    ],
)
async def test_a_name_that_leads_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(ImportRejected, match="forbidden file name"):
        await take_archive(packed((name, b"x")), SPEC)


@pytest.mark.parametrize(
    "kind",
    [
        tarfile.SYMTYPE,
        tarfile.LNKTYPE,
        tarfile.DIRTYPE,
        tarfile.FIFOTYPE,
        tarfile.CHRTYPE,
        tarfile.BLKTYPE,
    ],
)
async def test_anything_but_a_regular_file_is_refused(kind: bytes) -> None:
    with pytest.raises(ImportRejected, match="not a regular file"):
        await take_archive(packed(("x", b""), type=kind, linkname="/etc/passwd"), SPEC)


@pytest.mark.parametrize(
    "entries",
    [[("x", b"1"), ("x", b"2")], [("a", b"1"), ("a/b", b"2")], [("a/b/c", b"1"), ("a", b"2")]],
)
async def test_files_that_cannot_stand_beside_each_other_are_refused(
    entries: list[tuple[str, bytes]],
) -> None:
    with pytest.raises(ImportRejected):
        await take_archive(packed(*entries), SPEC)


@pytest.mark.parametrize("limits", [{"max_files": 1}, {"max_blob_bytes": 2}, {"max_tree_bytes": 5}])
async def test_an_archive_over_a_limit_of_checkouts_is_refused(limits: dict[str, int]) -> None:
    with pytest.raises(ImportRejected, match=r"more than|larger than"):
        await take_archive(packed(("a", b"123"), ("b", b"456")), SandboxSpec.model_validate(limits))


@pytest.mark.parametrize(
    "raw",
    [
        b"nonsense" * 100,
        packed(("a", b"123"))[:512],
        packed(("a", b"1" * 2000))[:1200],
        b"\x1f\x8b\x08\0" + b"\0" * 600,
        # Long names chained deeper than any reader goes.
        b"".join(
            tarfile.TarInfo("x").create_gnu_header(
                {**tarfile.TarInfo("x").get_info(), "type": b"L"}, "utf-8", "strict"
            )
            for _ in range(5000)
        ),
    ],
    ids=["noise", "header only", "cut off", "packed", "chained"],
)
async def test_what_is_no_archive_is_refused(raw: bytes) -> None:
    with pytest.raises(ImportRejected):
        await take_archive(raw, SPEC)


@given(st.data())
@settings(max_examples=150, deadline=None)
async def test_whatever_is_done_to_the_bytes_it_is_read_or_refused(data: st.DataObject) -> None:
    raw = bytearray(packed(("a.py", b"x = 1\n"), ("b/c.py", b"y" * 600), mode=0o755))
    for _ in range(data.draw(st.integers(1, 6))):
        raw[data.draw(st.integers(0, 2600))] = data.draw(st.integers(0, 255))
    try:
        taken = await take_archive(bytes(raw), SPEC)
    except ImportRejected:
        return
    assert all(".." not in name.split("/") and not name.startswith("/") for name in taken.names())
