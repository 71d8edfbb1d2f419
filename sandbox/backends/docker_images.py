"""Images: the toolchain, the thin layer of guest programs on top, and kept environments."""

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
from docker.errors import APIError, BuildError, DockerException, ImageNotFound, NotFound

from sandbox.backends.base import CacheUsage
from sandbox.backends.docker_disk import (
    ENVIRONMENT,
    MADE_BY_US,
    NOTES_LABEL,
    TOOLCHAIN,
    Disk,
    read_notes,
)
from sandbox.backends.docker_hardening import LABEL, OWNER_LABEL, USER
from sandbox.backends.docker_setup import pack_file
from sandbox.backends.guest_tree import GuestTree
from sandbox.backends.owners import owner
from sandbox.backends.retention import LastUses, RetentionLimits
from sandbox.errors import SandboxError, SandboxUnavailable
from sandbox.image import build
from sandbox.spec import ENVIRONMENT_NAMES, SandboxSpec
from sandbox.types import CHANGED, USUAL

log = logging.getLogger(__name__)

GUEST_LABEL = "metaagent.guest"
"""Label with the digest of an image's guest programs."""

KEY_LABEL = "metaagent.environment"
BASE_NOTE = "base"
"""Note of a toolchain with the digest of the image below its guest programs."""

FORBIDDEN = ("Volumes", "Entrypoint", "ExposedPorts", "OnBuild", "Healthcheck")
"""Settings that an environment's image must not have."""

_MOST_ETC_BYTES = 1 << 20

_NO_PACKAGE = re.compile(
    r"^(?:\x1b\[91m)?E: (Unable to locate package [\w.+-]{1,100}"
    r"|Package '[\w.+-]{1,100}' has no installation candidate)",
    re.MULTILINE,
)
"""An error of apt, which the daemon may colour. Other errors could quote addresses."""

SAFE_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,100}")


@contextmanager
def only_one(cache: Path, name: str) -> Iterator[None]:
    """Wait for an exclusive lock between processes.

    Args:
        cache: The user's folder for the lock.
        name: The name of the lock.
    """
    cache.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(
        cache / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
    )
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


class Images:
    """The images of one daemon.

    Args:
        client: The daemon.
        spec: The inputs of the toolchain.
        guest: The guest programs that every image must contain.
        cache: Folder for locks.
    """

    def __init__(
        self, client: docker.DockerClient, spec: SandboxSpec, guest: GuestTree, cache: Path
    ) -> None:
        self._client = client
        self._spec = spec
        self._guest = guest
        self._cache = cache
        self._uses = LastUses(cache / "uses")
        self._present: tuple[str, ...] = ()

    def toolchain(self, packages: tuple[str, ...] = ()) -> str:
        """Return the toolchain with the current guest programs; build or pull it if necessary.

        Args:
            packages: Further Debian packages of an image that is built; one that is pulled stays
                as it is.
        """
        packages = build.newest(self._spec.debian_suite, (*self._spec.debian_packages, *packages))
        spec = self._spec.model_copy(update={"debian_packages": packages})
        base = self._pull(spec.image) if spec.image else self._build(spec)
        digest = str(self._attributes(base)["Id"])
        reference = f"{TOOLCHAIN}:{digest.removeprefix('sha256:')[:12]}-{self._guest.digest}"
        # Keys of environments depend on the image below the guest programs. New guest programs only
        # need a thin layer on top of an environment, and not a new environment.
        self._add_guest_layer(base, reference, {NOTES_LABEL: json.dumps({BASE_NOTE: digest})})
        self._present = tuple(dict.fromkeys((*self._present, base, reference)))
        self._uses.touch(base, reference)
        return reference

    def environment(self, key: str) -> str | None:
        """Return the environment of a key with the current guest programs, or None."""
        tag = f"{ENVIRONMENT}:{_tag(key)}"
        attributes = self.find(tag)
        if attributes is None:
            return None
        self._uses.touch(tag)
        present, reference = _labels(attributes).get(GUEST_LABEL) == self._guest.digest, tag
        if not present:
            kept = {
                name: text
                for name, text in _labels(attributes).items()
                if name in {KEY_LABEL, NOTES_LABEL}
            }
            reference = self._add_guest_layer(tag, f"{tag}-{self._guest.digest}", kept)
            attributes = self._attributes(reference)
            self._uses.touch(reference)
        if problems := _find_problems(attributes["Config"]):
            log.warning("environment %s ignored: its image contains %s", tag, problems)
            return None
        return reference

    def notes(self, image: str) -> dict[str, str]:
        """Return the notes of an environment."""
        return read_notes(_labels(self.find(image) or {}))

    def keep(self, container: Any, key: str, notes: Mapping[str, str]) -> str:
        """Keep a set-up container's root file system under a key."""
        tag = _tag(key)
        labels = {
            GUEST_LABEL: self._guest.digest,
            KEY_LABEL: key[:200],
            NOTES_LABEL: json.dumps(dict(notes)),
        }
        container.commit(
            repository=ENVIRONMENT, tag=tag, message=MADE_BY_US, conf=_clean_config(labels)
        )
        reference = f"{ENVIRONMENT}:{tag}"
        self._uses.touch(reference)
        # Verify the committed image: a commit also takes settings from the container.
        problems = _find_problems(self._attributes(reference)["Config"])
        if problems:
            self._client.images.remove(reference, force=True)
            raise SandboxError(f"The environment was not kept: its image would contain {problems}.")
        return reference

    def prune(self, *, only_count: bool = False) -> CacheUsage:
        """Remove images beyond the limits, but none before the current toolchain is known."""
        limits = RetentionLimits(
            size=self._spec.environments_bytes, days=self._spec.environments_days
        )
        return Disk(self._client, self._uses, limits).prune(
            self._present, only_count=only_count or not self._present
        )

    def digest(self, image: str) -> str:
        """Return the content digest of an image."""
        return str(self._attributes(image)["Id"])

    def find(self, image: str) -> dict[str, Any] | None:
        """Return the daemon's description of an image, or None."""
        try:
            inspect: Callable[[str], dict[str, Any]] = self._client.api.inspect_image
            return inspect(image)
        except ImageNotFound:
            return None

    def _attributes(self, image: str) -> dict[str, Any]:
        attributes = self.find(image)
        if attributes is None:
            raise SandboxUnavailable(
                f"The image {image} does not exist.", "Build it with `metaagent image`."
            )
        return attributes

    def _pull(self, image: str) -> str:
        if self.find(image) is None:
            try:
                self._client.images.pull(image)
            except (DockerException, APIError) as error:
                raise SandboxUnavailable(
                    f"The image {image} can neither be found nor pulled.", str(error)
                ) from error
        return image

    def _build(self, spec: SandboxSpec) -> str:
        tag = build.inputs_hash(spec)
        reference = f"{TOOLCHAIN}:{tag}"
        if self.find(reference) is None:
            with only_one(self._cache, "image"):
                if self.find(reference) is None:
                    self._build_toolchain(reference, spec, tag)
        return reference

    def _build_from_packages(self, tag: str, spec: SandboxSpec) -> None:
        with build.root_archive(spec) as archive:
            changes = [f"USER {USER}", f"LABEL {KEY_LABEL}=toolchain"]
            self._client.api.import_image(
                src=archive, repository=TOOLCHAIN, tag=tag, changes=changes
            )

    def _build_toolchain(self, reference: str, spec: SandboxSpec, tag: str) -> None:
        """Build from the Dockerfile on a registry's image, or from packages if none is reachable.

        Raises:
            SandboxUnavailable: Neither works.
        """
        base = f"debian:{spec.debian_suite}-slim"
        further = " ".join(spec.debian_packages)
        arguments = {
            "BASE": base, "UV_VERSION": build.UV_VERSION, "FURTHER_PACKAGES": further
        }  # fmt: skip
        try:
            if self.find(base) is None:
                self._client.images.pull(base)
            self._client.images.build(
                path=str(build.DOCKERFILE.parent),
                tag=reference,
                buildargs=arguments,
                labels={KEY_LABEL: "toolchain"},
                rm=True,
                forcerm=True,  # a failed build leaves no container either
                timeout=int(build.BUILD_WALL_S),
            )
        except (DockerException, APIError) as error:
            log.info("building from Debian packages, registry failed: %s", str(error)[:200])
            missing = find_missing_package(error)
            try:
                self._build_from_packages(tag, spec)
            except SandboxUnavailable as second:
                # Without a mirror, apt misses every package, so that this may be no cause.
                reason = f" Docker's own build failed, too: {missing}." if missing else ""
                raise SandboxUnavailable(f"{second.message}{reason}", second.advice) from second

    def _add_guest_layer(self, base: str, reference: str, labels: Mapping[str, str]) -> str:
        """Return the base with a thin layer of guest programs, and create it if it is missing."""
        if self.find(reference) is not None:
            return reference
        with only_one(self._cache, "guest"):
            if self.find(reference) is not None:
                return reference
            # The container is never started: the archive is unpacked into its file system.
            ours = {LABEL: "image", OWNER_LABEL: owner()}
            container = self._client.containers.create(
                base, ["/bin/true"], network_mode="none", labels=ours
            )
            try:
                container.put_archive("/", self._guest.archive())
                for name, edited in _EDITED.items():
                    container.put_archive("/etc", _edit(container, name, edited))
                repository, _, tag = reference.partition(":")
                config = _clean_config({**labels, GUEST_LABEL: self._guest.digest})
                container.commit(repository=repository, tag=tag, message=MADE_BY_US, conf=config)
            finally:
                container.remove(force=True)
        return reference


def find_missing_package(error: DockerException) -> str:
    """Return the words of apt about a package that does not exist; empty if it has none.

    Args:
        error: The client's error. Its text only names the command and its exit status.
    """
    parts = error.build_log if isinstance(error, BuildError) else ()
    printed = "".join(str(part.get("stream", "")) for part in parts)
    named = _NO_PACKAGE.search(printed)
    return named[1] if named else ""


def _edit(container: Any, name: str, edited: Callable[[bytes, str], bytes]) -> bytes:
    """Return an archive with an edited file of an image's /etc.

    Args:
        container: A container of the image.
        name: The file; it may be missing, or a link, which a file then replaces.
        edited: Returns the new content for the old one and the name.
    """
    try:
        stream, status = container.get_archive(f"/etc/{name}")
    except NotFound:
        return pack_file(name, edited(b"", name))
    if status["size"] > _MOST_ETC_BYTES:
        raise SandboxUnavailable(
            f"The image's /etc/{name} is too long.", "Name another image (sandbox.image)."
        )
    with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as archive:
        member = archive.getmember(name)
        # The daemon does not follow links: its archive lacks the file that a link names.
        file = archive.extractfile(member) if member.isfile() else None
        known = file.read() if file is not None else b""
    return pack_file(name, edited(known, name))


def with_users(known: bytes, name: str) -> bytes:
    """Add the missing sandbox users to a user list.

    Args:
        known: The content of an image's list.
        name: `passwd` or `group`.
    """
    names = {line.partition(b":")[0] for line in known.splitlines()}
    wanted = [s for s in (USUAL, CHANGED) if s.user.encode() not in names]
    rest = {s.user: f"{s.uid}::{s.home}:/bin/sh" if name == "passwd" else "" for s in wanted}
    separator = b"" if known.endswith(b"\n") or not known else b"\n"
    return (
        known + separator + "".join(f"{s.user}:x:{s.uid}:{rest[s.user]}\n" for s in wanted).encode()
    )


def with_unknown_names(known: bytes, _name: str) -> bytes:
    """Let the resolver answer "no such name" where no name server can be reached.

    As with a network, tests of unknown hosts get this answer: without it, the answer is "try again
    later". The name server stays in use for a set-up with `bridge`: `files` decides last, when no
    name server responded (nsswitch.conf(5)).

    Args:
        known: The content of an image's nsswitch.conf.
    """
    rest = [line for line in known.splitlines() if not line.startswith(b"hosts:")]
    return b"\n".join([*rest, b"hosts: files dns files", b""])


_EDITED: dict[str, Callable[[bytes, str], bytes]] = {
    "passwd": with_users,
    "group": with_users,
    "nsswitch.conf": with_unknown_names,
}
"""Files in /etc of every image that are edited, each with its edit."""


_UNOWNED = {LABEL: "", OWNER_LABEL: ""}
"""A commit inherits the container's labels. Other containers from this image must not be swept."""


def _clean_config(labels: dict[str, str]) -> dict[str, Any]:
    """Return a configuration without anything of the container's."""
    return {
        "Env": [],
        "User": USER,
        "Cmd": None,
        "Entrypoint": None,
        "WorkingDir": "/",
        "Labels": _UNOWNED | labels,
    }


def _find_problems(config: dict[str, Any]) -> str:
    """Return the forbidden settings of an image's configuration; empty if it is clean."""
    names = {entry.partition("=")[0] for entry in config.get("Env") or ()}
    found = sorted(names - ENVIRONMENT_NAMES)
    found += [name for name in FORBIDDEN if config.get(name)]
    found += ["another user"] if config.get("User") != USER else []
    return ", ".join(found)


def _labels(attributes: dict[str, Any]) -> dict[str, str]:
    return dict((attributes.get("Config") or {}).get("Labels") or {})


def _tag(key: str) -> str:
    """Return a key as an image tag."""
    return key if SAFE_TAG.fullmatch(key) else hashlib.sha256(key.encode()).hexdigest()
