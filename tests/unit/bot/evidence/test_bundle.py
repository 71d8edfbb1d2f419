"""The bundle as a file: the same for the same content, and read as if anybody had written it."""

import hashlib
import io
import json
import struct
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain.evidence import EvidenceBundle
from bot.domain.mission import Outcome
from bot.errors import Fault, UsageError
from bot.evidence import bundle as home
from bot.evidence.bundle import CHECKOUT, CLAIM, DIFF, EVIDENCE, MANIFEST, read_bundle, write_bundle
from bot.evidence.claim import build_bundle
from bot.publish.story import build_story
from tests.builders import a_mission

Members = dict[str, bytes]


def a_bundle(outcome: Outcome = Outcome.FIXED, checkout: bytes = b"tar") -> EvidenceBundle:
    bundle = build_bundle(build_story(a_mission(outcome)), checkout)
    assert bundle is not None
    return bundle


def members_of(raw: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members: Members, *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def changed(change: Callable[[Members], None]) -> bytes:
    """A bundle somebody laid hands on."""
    members = members_of(write_bundle(a_bundle()))
    change(members)
    return zipped(members)


def with_manifest(**fields: Any) -> bytes:
    def change(members: Members) -> None:
        members[MANIFEST] = json.dumps(json.loads(members[MANIFEST]) | fields).encode()

    return changed(change)


def test_what_is_written_is_what_is_read() -> None:
    bundle = a_bundle()
    assert read_bundle(write_bundle(bundle)) == bundle


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_that_ran_something_has_a_bundle(outcome: Outcome) -> None:
    assert read_bundle(write_bundle(a_bundle(outcome))).claim.outcome == outcome


def test_the_same_content_gives_the_same_bytes() -> None:
    assert write_bundle(a_bundle()) == write_bundle(a_bundle())
    assert write_bundle(a_bundle()) != write_bundle(a_bundle(checkout=b"other"))


def test_an_honest_zip_of_another_tool_is_read_too() -> None:
    raw = write_bundle(a_bundle())
    assert read_bundle(zipped(members_of(raw), method=zipfile.ZIP_STORED)) == read_bundle(raw)


@pytest.mark.parametrize("name", [CHECKOUT, CLAIM, DIFF, EVIDENCE])
def test_a_member_that_was_changed_is_noticed(name: str) -> None:
    def change(members: Members) -> None:
        members[name] = members[name].replace(b"a", b"b") + b" "

    with pytest.raises(UsageError, match="changed or damaged"):
        read_bundle(changed(change))


@pytest.mark.parametrize("name", [CHECKOUT, CLAIM, EVIDENCE, MANIFEST, DIFF])
def test_a_member_that_is_missing_is_noticed(name: str) -> None:
    with pytest.raises(UsageError, match="members"):
        read_bundle(changed(lambda members: members.__delitem__(name)))


@pytest.mark.parametrize(
    "name", ["../evil", "/etc/passwd", "extra.txt", "checkout.tar/", "C:\\x", "MANIFEST.JSON"]
)
def test_a_member_of_any_other_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=r"members|directory"):
        read_bundle(changed(lambda members: members.__setitem__(name, b"x")))


def test_a_member_that_stands_there_twice_is_refused() -> None:
    out = io.BytesIO()
    members = members_of(write_bundle(a_bundle()))
    del members[EVIDENCE]
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr(CLAIM, b"{}")
    with pytest.raises(UsageError, match="members"):
        read_bundle(out.getvalue())


def test_a_bundle_from_before_recipes_had_parts_is_read() -> None:
    def change(members: Members) -> None:
        claim = json.loads(members[CLAIM])
        del claim["recipe"]["parts"]
        claim["recipe"] |= {"python": "3.11", "requirements": ["attrs>=23"], "extras": []}
        members[CLAIM] = json.dumps(claim).encode()
        manifest = json.loads(members[MANIFEST])
        manifest["members"][CLAIM] = {
            "sha256": hashlib.sha256(members[CLAIM]).hexdigest(),
            "size": len(members[CLAIM]),
        }
        members[MANIFEST] = json.dumps(manifest).encode()

    python = read_bundle(changed(change)).claim.recipe.python
    assert (python.version, python.requirements) == ("3.11", ("attrs>=23",))


def test_a_version_nobody_knows_here_says_what_to_do() -> None:
    with pytest.raises(UsageError, match="version 7") as caught:
        read_bundle(with_manifest(version=7))
    assert "version of MetaAgent that wrote it" in caught.value.advice
    assert caught.value.fault is Fault.USER


@pytest.mark.parametrize(
    "fields",
    [
        {"format": "something-else"},
        {"members": {}},
        {"members": 3},
        {"mission_id": "another"},
        {"unknown": 1},
        {"notes": "text"},
        {"version": "1"},
        {"version": None},
    ],
)
def test_a_manifest_that_is_none_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="evidence bundle"):
        read_bundle(with_manifest(**fields))


@pytest.mark.parametrize("content", [b"", b"[]", b"nonsense", b"\xff\xfe", b"[" * 100_000, b'"x"'])
def test_members_that_are_not_in_their_form_are_refused(content: bytes) -> None:
    for name in (CLAIM, EVIDENCE):

        def change(members: Members, name: str = name) -> None:
            members[name] = content
            manifest = json.loads(members[MANIFEST])
            manifest["members"][name] = {
                "sha256": hashlib.sha256(content).hexdigest(),
                "size": len(content),
            }
            members[MANIFEST] = json.dumps(manifest).encode()

        with pytest.raises(UsageError, match="claim is malformed"):
            read_bundle(changed(change))
    with pytest.raises(UsageError, match="manifest"):
        read_bundle(changed(lambda members: members.__setitem__(MANIFEST, content)))


def test_a_bomb_is_refused_by_what_comes_out_of_it() -> None:
    bomb = b"\0" * (home.CAPS[MANIFEST] + 1)
    with pytest.raises(UsageError, match="larger than"):
        read_bundle(changed(lambda members: members.__setitem__(MANIFEST, bomb)))


def test_a_bomb_that_lies_about_its_size_is_refused() -> None:
    bomb = b"\0" * (home.CAPS[MANIFEST] + 1)
    raw = changed(lambda members: members.__setitem__(MANIFEST, bomb))
    lying = raw.replace(struct.pack("<L", len(bomb)), struct.pack("<L", 100))
    with pytest.raises(UsageError):
        read_bundle(lying)


def test_a_directory_that_announces_a_crowd_is_refused_before_it_is_read() -> None:
    crowd = zipped({f"{number}": b"" for number in range(200)})
    with pytest.raises(UsageError, match="directory"):
        read_bundle(crowd)


@pytest.mark.parametrize("extra", [b"#!/bin/sh\n", b"PK\x03\x04"])
def test_anything_before_the_zip_or_after_it_is_refused(extra: bytes) -> None:
    raw = write_bundle(a_bundle())
    for odd in (extra + raw, raw + extra):
        with pytest.raises(UsageError):
            read_bundle(odd)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=150, deadline=None)
def test_whatever_is_done_to_the_bytes_it_is_read_right_or_refused(data: st.DataObject) -> None:
    raw = bytearray(write_bundle(a_bundle()))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    cut = (
        bytes(raw[: data.draw(st.integers(0, len(raw)))])
        if data.draw(st.booleans())
        else bytes(raw)
    )
    try:
        found = read_bundle(cut)
    except UsageError:
        return
    assert found == a_bundle()


@given(st.binary(max_size=200))
@settings(max_examples=50, deadline=None)
def test_no_bytes_break_the_reader(raw: bytes) -> None:
    with pytest.raises(UsageError):
        read_bundle(raw)
    with pytest.raises(UsageError):
        read_bundle(b"PK\x05\x06" + raw)


def test_a_second_directory_for_very_large_zips_is_refused_before_it_is_read() -> None:
    count, name = 1000, b"x"
    entry = (
        struct.pack(
            "<4s6H3L5H2L",
            b"PK\x01\x02",
            20,
            20,
            0,
            0,
            0,
            0x21,
            0,
            0,
            0,
            len(name),
            0,
            0,
            0,
            0,
            0,
            0,
        )
        + name
    )
    crowd = entry * count
    large = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, len(crowd), 0)
    large += struct.pack("<4sLQL", b"PK\x06\x07", 0, len(crowd), 1)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 5, 5, len(large), len(crowd), 0)
    with pytest.raises(UsageError, match="second directory"):
        read_bundle(crowd + large + end)


def test_a_claim_says_no_secret() -> None:
    secret = "Zq7" + "x9K" * 9
    context = a_mission(Outcome.FIXED).with_(reason=f"it printed {secret}")
    bundle = build_bundle(build_story(context, secrets=(secret,)), b"tar")
    assert bundle is not None
    assert bundle.claim.reason.startswith("it printed ")
    assert secret not in bundle.claim.model_dump_json()
