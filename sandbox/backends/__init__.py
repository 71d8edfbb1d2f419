"""The places where untrusted code may run, by name."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sandbox.backends.base import Backend
from sandbox.spec import SandboxSpec


def _docker(spec: SandboxSpec) -> Backend:
    from sandbox.backends.docker_container import DockerBackend

    return DockerBackend(spec)


def _local(spec: SandboxSpec) -> Backend:
    from sandbox.backends.local_process import LocalBackend

    return LocalBackend(spec)


BACKENDS: Mapping[str, Callable[[SandboxSpec], Backend]] = MappingProxyType({"docker": _docker, "local": _local})
"""Name to maker; each imports its libraries when it is asked for."""


def open_backend(spec: SandboxSpec) -> Backend:
    """The backend the specification names."""
    return BACKENDS[spec.backend](spec)
