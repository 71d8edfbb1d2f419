"""Limits for incoming requests: settings of the HTTP server."""

import ipaddress

from pydantic import ConfigDict, Field, field_validator

from sandbox.types import Frozen

MIB = 1 << 20


class HttpLimits(Frozen):
    """Limits of the HTTP server, for the webhook and for the set-up pages."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    connections: int = Field(default=768, ge=16)
    """Open connections at the same time. Beyond that, the connection idle for longest is closed. A
    lower limit on open files lowers it; 256 files are reserved for other uses."""
    head_s: float = Field(default=5.0, gt=0, le=60.0)
    """Timeout for the head of a request, and for an idle connection, in seconds."""
    body_s: float = Field(default=8.0, gt=0, le=60.0)
    """Timeout for the body of a request, in seconds. GitHub gives up after ten."""
    bodies_bytes: int = Field(default=28 * MIB, ge=MIB)
    """Memory for all request bodies together, in bytes. When it is full, the largest unfinished
    body is refused (503)."""
    proxies: tuple[str, ...] = ()
    """Addresses or networks of reverse proxies, for example `127.0.0.1, 10.0.0.0/8`.
    `X-Forwarded-Proto` and `X-Forwarded-For` are used only in requests from them."""

    @field_validator("proxies", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        """Split the text form used by the environment and the command line."""
        return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value

    @field_validator("proxies")
    @classmethod
    def _normalize(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Return the proxies as networks.

        Host names are refused: one that resolves differently could trust every client or none.
        """
        return tuple(str(ipaddress.ip_network(one, strict=False)) for one in value)
