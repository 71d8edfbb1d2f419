"""The backends that run untrusted code, by name."""

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


BACKENDS: Mapping[str, Callable[[SandboxSpec], Backend]] = MappingProxyType(
    {"docker": _docker, "local": _local}
)
"""Name to constructor. Each one imports its libraries when it is called."""


def open_backend(spec: SandboxSpec) -> Backend:
    """Return the backend that the specification names."""
    return BACKENDS[spec.backend](spec)
