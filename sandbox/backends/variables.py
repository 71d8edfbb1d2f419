"""The environment variables of commands: a fixed list, never those of the host."""

import ssl
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from sandbox.egress.allowed import Endpoint, parse_endpoint, parse_hosts
from sandbox.errors import SandboxUnavailable
from sandbox.spec import SandboxSpec
from sandbox.types import USUAL, Surroundings

CERTIFICATE_NAMES = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE")
USUAL_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


LOCAL = ("localhost", "127.0.0.1", "::1")
"""Hosts that commands reach without the proxy."""


def for_commands(
    paths: Sequence[str], home: str, surroundings: Surroundings = USUAL
) -> dict[str, str]:
    """Return the variables of every command.

    Args:
        paths: The program search path.
        home: The home folder.
        surroundings: Locale, time zone, and whether `CI` is set.
    """
    found = {
        "PATH": ":".join(paths),
        "HOME": home,
        "LANG": surroundings.locale,
        "PYTHONDONTWRITEBYTECODE": "1",
        "TZ": surroundings.timezone,
    }
    if surroundings.is_ci:
        found["CI"] = "true"
    if surroundings.locale != USUAL.locale:
        found["LC_ALL"] = surroundings.locale  # Python coerces LANG alone to C.UTF-8 (PEP 538)
    return found


def for_setup(spec: SandboxSpec, environment: str, certificates: str | None) -> dict[str, str]:
    """Return the additional variables of set-up commands: the install target and sources.

    Args:
        spec: The settings with the package index.
        environment: Folder of the repository's environment.
        certificates: Path of a CA bundle; None if there is none.
    """
    named = (spec.index_url, *_addresses(spec))
    for url in filter(None, named):
        require_no_password(url)
    local = _no_proxy_hosts(spec)
    found = {
        "VIRTUAL_ENV": environment,
        "UV_NO_PROGRESS": "1",
        "NO_PROXY": local,
        "no_proxy": local,
    }
    if certificates is not None:
        found |= dict.fromkeys(CERTIFICATE_NAMES, certificates)
    if spec.index_url is not None:
        found |= {"UV_DEFAULT_INDEX": spec.index_url, "PIP_INDEX_URL": spec.index_url}
    return found


def hosts_of_operator(spec: SandboxSpec) -> tuple[Endpoint, ...]:
    """Return the hosts in the settings, except for the package index.

    Raises:
        SandboxUnavailable: A host is malformed.
    """
    found = (parse_endpoint(url, own=True) for url in _addresses(spec) if url is not None)
    return (
        *parse_hosts(spec.egress_hosts),
        *(endpoint for endpoint in found if endpoint is not None),
    )


def _addresses(spec: SandboxSpec) -> tuple[str | None, ...]:
    """Return the sources in the settings, except for the package index."""
    return (spec.npm_registry, spec.go_proxy, spec.python_mirror, spec.python_downloads_json)


def _no_proxy_hosts(spec: SandboxSpec) -> str:
    """Return the hosts that a set-up reaches without the proxy: itself.

    Names of the operator's own hosts are excluded.

    `127.0.0.1` in a setting is the operator's machine, and only the proxy leads there.
    """
    index = parse_endpoint(spec.index_url) if spec.index_url is not None else None
    theirs = {
        endpoint.host for endpoint in (*hosts_of_operator(spec), index) if endpoint is not None
    }
    return ",".join(name for name in LOCAL if name not in theirs)


def require_no_password(url: str) -> None:
    """Reject an address with a password, because untrusted code could read it in its environment.

    Raises:
        SandboxUnavailable: There is a password. The message does not contain the address.
    """
    if "@" in urlsplit(url).netloc:
        raise SandboxUnavailable(
            "The address of the package index, registry or Python mirror contains a password, "
            "and no secret enters a sandbox.",
            "Allow this host to read it without one, or set sandbox.index_url to a "
            "caching mirror that has the password.",
        )


def ca_bundle(spec: SandboxSpec) -> bytes:
    """Return the certificates that a set-up trusts: the configured ones, or the host's own.

    Raises:
        SandboxUnavailable: The configured bundle is unreadable.
    """
    if spec.ca_bundle is not None:
        try:
            return Path(spec.ca_bundle).read_bytes()
        except OSError as error:
            raise SandboxUnavailable(
                f"The CA bundle cannot be read: {error.strerror}.",
                "Check the setting sandbox.ca_bundle.",
            ) from error
    own = ssl.get_default_verify_paths().cafile or ""
    for candidate in (own, *USUAL_BUNDLES):
        if candidate and Path(candidate).is_file():
            return Path(candidate).read_bytes()
    return b""
