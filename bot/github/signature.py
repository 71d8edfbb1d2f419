"""The signature of a webhook delivery: an HMAC of its raw body."""

import hashlib
import hmac
import re

SIGNATURE = re.compile(r"sha256=[0-9a-f]{64}")
"""The form of `X-Hub-Signature-256`."""


class Signature:
    """The HMAC of a body, computed while the body arrives.

    Args:
        secret: The webhook's secret.
    """

    def __init__(self, secret: str) -> None:
        self._has_secret = bool(secret)
        self._mac = hmac.new(secret.encode(), digestmod=hashlib.sha256)

    def update(self, part: bytes) -> None:
        """Add the next part of the raw body."""
        self._mac.update(part)

    def matches(self, header: str | None) -> bool:
        """Return True if `X-Hub-Signature-256` signs the parts so far.

        The comparison uses bytes, so that a non-ASCII header is wrong instead of an error.
        """
        # Anyone can sign with an empty secret.
        if not self._has_secret or header is None:
            return False
        expected = "sha256=" + self._mac.hexdigest()
        return hmac.compare_digest(expected.encode(), header.encode("utf-8", "surrogateescape"))

    @property
    def fingerprint(self) -> str:
        """Return a keyed digest of the body for storage.

        It identifies equal bodies. A leaked one cannot be sent as a signature.
        """
        # The prefix keeps this use of the HMAC apart from all others.
        return hashlib.sha256(b"metaagent.delivery\0" + self._mac.digest()).hexdigest()
