"""Limits on what the network may send to the service: settings of the HTTP server."""

import ipaddress

from pydantic import ConfigDict, Field, field_validator

from sandbox.types import Frozen

MIB = 1 << 20


class HttpLimits(Frozen):
    """Limits of the HTTP server, for the webhook and for the set-up pages."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    connections: int = Field(default=768, ge=16)
    """Connections that are open at the same time. One more closes the one that has waited longest for its client.
    A process that may open fewer files takes fewer; 256 files are left for other uses."""
    head_s: float = Field(default=5.0, gt=0, le=60.0)
    """Time limit for the head of a request, and for an idle connection, in seconds."""
    body_s: float = Field(default=8.0, gt=0, le=60.0)
    """Time limit for the body of a request, in seconds. GitHub gives up after ten."""
    bodies_bytes: int = Field(default=28 * MIB, ge=MIB)
    """Memory for all request bodies together. When it is full, the largest unfinished body is refused (503)."""
    proxies: tuple[str, ...] = ()
    """Addresses or networks of proxies in front, for example `127.0.0.1, 10.0.0.0/8`. `X-Forwarded-Proto` and
    `X-Forwarded-For` count only in requests from them."""

    @field_validator("proxies", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        """Split the text form that the environment and the command line use."""
        return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value

    @field_validator("proxies")
    @classmethod
    def _normalize(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Refuse anything but addresses and networks: a name that is misread would trust nothing or everything."""
        return tuple(str(ipaddress.ip_network(one, strict=False)) for one in value)
