"""Images: the toolchain, the thin layer of guest programs on top, and environments kept from set-ups."""

import fcntl
import hashlib
import io
import json
import logging
import os
import re
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError, DockerException, ImageNotFound

from sandbox.backends.base import Kept
from sandbox.backends.docker_disk import ENVIRONMENT, MADE_BY_US, NOTES_LABEL, TOOLCHAIN, Disk, read_notes
from sandbox.backends.docker_hardening import LABEL, OWNER_LABEL, USER
from sandbox.backends.docker_setup import tar_of
from sandbox.backends.guest_tree import GuestTree
from sandbox.backends.owners import owner
from sandbox.backends.retention import LastUses, Limits
from sandbox.errors import SandboxError, SandboxUnavailable
from sandbox.image import build
from sandbox.spec import ENVIRONMENT_NAMES, SandboxSpec
from sandbox.types import CHANGED, USUAL

log = logging.getLogger(__name__)

GUEST_LABEL = "metaagent.guest"
"""Which guest programs an image carries."""

KEY_LABEL = "metaagent.environment"
BASE_NOTE = "base"
"""The note of a toolchain that names what lies below its guest programs."""

FORBIDDEN = ("Volumes", "Entrypoint", "ExposedPorts", "OnBuild", "Healthcheck")
"""What no image of an environment may configure."""

_MOST_USERS_BYTES = 1 << 20

SAFE_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,100}")


@contextmanager
def only_one(cache: Path, name: str) -> Iterator[None]:
    """Wait until no other process does the same.

    Args:
        cache: Folder of this user for the lock.
        name: What is done.
    """
    cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(cache / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


class Images:
    """The images of one daemon.

    Args:
        client: The daemon.
        spec: What the toolchain is made of.
        guest: The guest programs every image must carry.
        cache: Folder for locks.
    """

    def __init__(self, client: docker.DockerClient, spec: SandboxSpec, guest: GuestTree, cache: Path) -> None:
        self._client = client
        self._spec = spec
        self._guest = guest
        self._cache = cache
        self._uses = LastUses(cache / "uses")
        self._present: tuple[str, ...] = ()

    def toolchain(self) -> str:
        """The toolchain with the present guest programs; built, pulled or found."""
        base = self._pulled(self._spec.image) if self._spec.image else self._built()
        digest = str(self._attributes(base)["Id"])
        reference = f"{TOOLCHAIN}:{digest.removeprefix('sha256:')[:12]}-{self._guest.digest}"
        # The environments' keys go by what stands below the guest programs: a new version of those makes a thin layer
        # on top of an environment, not a new environment.
        self._with_guest(base, reference, {NOTES_LABEL: json.dumps({BASE_NOTE: digest})})
        self._present = (base, reference)
        self._uses.touch(*self._present)
        return reference

    def environment(self, key: str) -> str | None:
        """The environment kept under a key, with the present guest programs; None when there is none."""
        tag = f"{ENVIRONMENT}:{_tag(key)}"
        attributes = self.find(tag)
        if attributes is None:
            return None
        self._uses.touch(tag)
        present, reference = _labels(attributes).get(GUEST_LABEL) == self._guest.digest, tag
        if not present:
            kept = {name: text for name, text in _labels(attributes).items() if name in {KEY_LABEL, NOTES_LABEL}}
            reference = self._with_guest(tag, f"{tag}-{self._guest.digest}", kept)
            attributes = self._attributes(reference)
            self._uses.touch(reference)
        if problems := _problems(attributes["Config"]):
            log.warning("the environment %s is not used: its image carries %s", tag, problems)
            return None
        return reference

    def notes(self, image: str) -> dict[str, str]:
        """The short texts kept with an environment."""
        return read_notes(_labels(self.find(image) or {}))

    def keep(self, container: Any, key: str, notes: Mapping[str, str]) -> str:
        """Keep a set-up container's root file system under a key."""
        tag = _tag(key)
        labels = {GUEST_LABEL: self._guest.digest, KEY_LABEL: key[:200], NOTES_LABEL: json.dumps(dict(notes))}
        container.commit(repository=ENVIRONMENT, tag=tag, message=MADE_BY_US, conf=_clean(labels))
        reference = f"{ENVIRONMENT}:{tag}"
        self._uses.touch(reference)
        problems = _problems(self._attributes(reference)["Config"])
        if problems:
            self._client.images.remove(reference, force=True)
            raise SandboxError(f"The environment was not kept: its image would carry {problems}.")
        return reference

    def prune(self, *, only_count: bool = False) -> Kept:
        """Remove what is over the limits; nothing while the present toolchain is not known."""
        limits = Limits(size=self._spec.environments_bytes, days=self._spec.environments_days)
        return Disk(self._client, self._uses, limits).prune(self._present, only_count=only_count or not self._present)

    def digest(self, image: str) -> str:
        """The content digest of an image."""
        return str(self._attributes(image)["Id"])

    def find(self, image: str) -> dict[str, Any] | None:
        """How the daemon describes an image, or None."""
        try:
            inspect: Callable[[str], dict[str, Any]] = self._client.api.inspect_image
            return inspect(image)
        except ImageNotFound:
            return None

    def _attributes(self, image: str) -> dict[str, Any]:
        attributes = self.find(image)
        if attributes is None:
            raise SandboxUnavailable(f"The image {image} is not there.", "Build it with `metaagent image`.")
        return attributes

    def _pulled(self, image: str) -> str:
        if self.find(image) is None:
            try:
                self._client.images.pull(image)
            except (DockerException, APIError) as error:
                raise SandboxUnavailable(f"The image {image} can neither be found nor pulled.", str(error)) from error
        return image

    def _built(self) -> str:
        tag = build.inputs_hash(self._spec)
        reference = f"{TOOLCHAIN}:{tag}"
        if self.find(reference) is None:
            with only_one(self._cache, "image"):
                if self.find(reference) is None and not self._built_on_registry(reference):
                    with build.root_archive(self._spec) as archive:
                        changes = [f"USER {USER}", f"LABEL {KEY_LABEL}=toolchain"]
                        self._client.api.import_image(src=archive, repository=TOOLCHAIN, tag=tag, changes=changes)
        return reference

    def _built_on_registry(self, reference: str) -> bool:
        """Build from the Dockerfile on a base from a registry; False where none can be reached."""
        base = f"debian:{self._spec.debian_suite}-slim"
        arguments = {"BASE": base, "UV_VERSION": build.UV_VERSION}
        try:
            if self.find(base) is None:
                self._client.images.pull(base)
            self._client.images.build(
                path=str(build.DOCKERFILE.parent),
                tag=reference,
                buildargs=arguments,
                labels={KEY_LABEL: "toolchain"},
                rm=True,
                forcerm=True,  # a build that fails leaves no container either
                timeout=int(build.BUILD_WALL_S),
            )
        except (DockerException, APIError) as error:
            log.info("no image from a registry (%s): building from Debian packages", str(error)[:200])
            return False
        return True

    def _with_guest(self, base: str, reference: str, labels: Mapping[str, str]) -> str:
        """The base with a thin layer of guest programs, made when it is not there; labels tell what it is."""
        if self.find(reference) is not None:
            return reference
        with only_one(self._cache, "guest"):
            if self.find(reference) is not None:
                return reference
            # Never started: the archive is laid over the file system of a container that only exists.
            ours = {LABEL: "image", OWNER_LABEL: owner()}
            container = self._client.containers.create(base, ["/bin/true"], network_mode="none", labels=ours)
            try:
                container.put_archive("/", self._guest.archive())
                for name in ("passwd", "group"):
                    container.put_archive("/etc", _users(container, name))
                repository, _, tag = reference.partition(":")
                config = _clean({**labels, GUEST_LABEL: self._guest.digest})
                container.commit(repository=repository, tag=tag, message=MADE_BY_US, conf=config)
            finally:
                container.remove(force=True)
        return reference


def _users(container: Any, name: str) -> bytes:
    """A list of the image, with the users that sandboxes run as; an image of an operator may lack them."""
    stream, status = container.get_archive(f"/etc/{name}")
    if status["size"] > _MOST_USERS_BYTES:
        raise SandboxUnavailable(f"The image's /etc/{name} is too long.", "Name another image (sandbox.image).")
    with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as archive:
        file = archive.extractfile(name)
        known = file.read() if file is not None else b""
    return tar_of(name, with_users(known, name))


def with_users(known: bytes, name: str) -> bytes:
    """A list with every user that a sandbox runs as.

    Args:
        known: The content of an image's list.
        name: `passwd` or `group`.
    """
    names = {line.partition(b":")[0] for line in known.splitlines()}
    wanted = [s for s in (USUAL, CHANGED) if s.user.encode() not in names]
    rest = {s.user: f"{s.uid}::{s.home}:/bin/sh" if name == "passwd" else "" for s in wanted}
    separator = b"" if known.endswith(b"\n") or not known else b"\n"
    return known + separator + "".join(f"{s.user}:x:{s.uid}:{rest[s.user]}\n" for s in wanted).encode()


_UNOWNED = {LABEL: "", OWNER_LABEL: ""}
"""A commit takes the container's labels along; whoever starts something else from the image must not be swept."""


def _clean(labels: dict[str, str]) -> dict[str, Any]:
    """A configuration that carries nothing over from the container."""
    return {"Env": [], "User": USER, "Cmd": None, "Entrypoint": None, "WorkingDir": "/", "Labels": _UNOWNED | labels}


def _problems(config: dict[str, Any]) -> str:
    """What an image's configuration carries although it must not; empty when it is clean."""
    names = {entry.partition("=")[0] for entry in config.get("Env") or ()}
    found = sorted(names - ENVIRONMENT_NAMES)
    found += [name for name in FORBIDDEN if config.get(name)]
    found += ["another user"] if config.get("User") != USER else []
    return ", ".join(found)


def _labels(attributes: dict[str, Any]) -> dict[str, str]:
    return dict((attributes.get("Config") or {}).get("Labels") or {})


def _tag(key: str) -> str:
    """A key as an image tag."""
    return key if SAFE_TAG.fullmatch(key) else hashlib.sha256(key.encode()).hexdigest()
