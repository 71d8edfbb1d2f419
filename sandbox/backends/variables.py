"""The environment variables of commands: a fixed list, never those of the host."""

import ssl
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from sandbox.egress.allowed import Endpoint, configured, endpoint_of
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
"""What a command looks for beside itself, without the proxy."""


def for_commands(paths: Sequence[str], home: str, surroundings: Surroundings = USUAL) -> dict[str, str]:
    """What every command finds.

    Args:
        paths: Where programs are looked for.
        home: Its home folder.
        surroundings: Locale, time zone, and whether it is continuous integration.
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
        found["LC_ALL"] = surroundings.locale  # LANG alone would be coerced to C.UTF-8 by Python (PEP 538)
    return found


def for_setup(spec: SandboxSpec, environment: str, certificates: str | None) -> dict[str, str]:
    """What a command of the set-up phase finds besides: where to install, and from where.

    Args:
        spec: Names the package index.
        environment: Folder of the repository's environment.
        certificates: Path of a CA bundle; None when there is none.
    """
    for url in filter(None, (spec.index_url, spec.python_mirror, spec.python_downloads_json)):
        require_no_password(url)
    local = _beside_itself(spec)
    found = {"VIRTUAL_ENV": environment, "UV_NO_PROGRESS": "1", "NO_PROXY": local, "no_proxy": local}
    if certificates is not None:
        found |= dict.fromkeys(CERTIFICATE_NAMES, certificates)
    if spec.index_url is not None:
        found |= {"UV_DEFAULT_INDEX": spec.index_url, "PIP_INDEX_URL": spec.index_url}
    return found


def hosts_of_operator(spec: SandboxSpec) -> tuple[Endpoint, ...]:
    """The hosts that the settings name, but for the package index.

    Raises:
        SandboxUnavailable: one of them is malformed.
    """
    pythons = (spec.python_mirror, spec.python_downloads_json)
    found = (endpoint_of(url, own=True) for url in pythons if url is not None)
    return (*configured(spec.egress_hosts), *(endpoint for endpoint in found if endpoint is not None))


def _beside_itself(spec: SandboxSpec) -> str:
    """What a set-up does not ask the proxy for: itself, unless the operator's own hosts are called like that.

    `127.0.0.1` in a setting is the machine of the operator, and only the proxy leads there.
    """
    index = endpoint_of(spec.index_url) if spec.index_url is not None else None
    theirs = {endpoint.host for endpoint in (*hosts_of_operator(spec), index) if endpoint is not None}
    return ",".join(name for name in LOCAL if name not in theirs)


def require_no_password(url: str) -> None:
    """A password in an address would stand in the environment of code that we do not trust.

    Raises:
        SandboxUnavailable: there is one; the address itself is not told.
    """
    if "@" in urlsplit(url).netloc:
        raise SandboxUnavailable(
            "The address of the package index, or of the Pythons, holds a password, and no secret enters a sandbox.",
            "Let this host read it without one, or put a caching mirror that knows it in between (sandbox.index_url).",
        )


def ca_bundle(spec: SandboxSpec) -> bytes:
    """The certificates the set-up phase trusts: those named, or the host's own; empty when there are none.

    Raises:
        SandboxUnavailable: the bundle that is named cannot be read.
    """
    if spec.ca_bundle is not None:
        try:
            return Path(spec.ca_bundle).read_bytes()
        except OSError as error:
            raise SandboxUnavailable(
                f"The CA bundle cannot be read: {error.strerror}.", "Check the setting sandbox.ca_bundle."
            ) from error
    own = ssl.get_default_verify_paths().cafile or ""
    for candidate in (own, *USUAL_BUNDLES):
        if candidate and Path(candidate).is_file():
            return Path(candidate).read_bytes()
    return b""
