"""Settings of the blob store."""

from collections.abc import Mapping

from pydantic import ConfigDict, Field, SecretStr

from sandbox.types import Frozen

PLACE = {
    "endpoint": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    "region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
}
"""Standard variables of the place, by field; the first one that is set is used."""
KEYS = {
    "key_id": ("AWS_ACCESS_KEY_ID",),
    "key": ("AWS_SECRET_ACCESS_KEY",),
    "token": ("AWS_SESSION_TOKEN",),
}
"""Standard variables of the key, by field."""


class StorageSpec(Frozen):
    """The store for evidence, logs and large step results."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    url: str | None = Field(
        default=None, pattern=r"^(s3://[a-z0-9][a-z0-9.-]+(/[A-Za-z0-9._/-]*)?|file:///.+)$"
    )
    """`s3://BUCKET/PREFIX`, or a folder shared by all processes, `file:///…`; `blobs/` in the data
    directory by default. The location must belong to this service alone."""
    endpoint: str | None = Field(default=None, pattern=r"^https?://[^/\s?#@]+/?$")
    """The S3 server, `https://s3.example.com`; Amazon's by default. Falls back to
    `AWS_ENDPOINT_URL_S3` and `AWS_ENDPOINT_URL`."""
    region: str | None = None
    """The bucket's region. Falls back to `AWS_REGION` and `AWS_DEFAULT_REGION`."""
    key_id: SecretStr | None = None
    """The access key id. Falls back to `AWS_ACCESS_KEY_ID`; without any key, the machine's role is
    used."""
    key: SecretStr | None = None
    """The secret access key. Falls back to `AWS_SECRET_ACCESS_KEY`."""
    token: SecretStr | None = None
    """The session token. Falls back to `AWS_SESSION_TOKEN`."""


def usual_names(given: Mapping[str, object], variables: Mapping[str, str]) -> dict[str, str]:
    """Return the standard S3 variables to use for settings that are missing.

    The key variables are used only if no key is set, so that keys of two owners never mix.

    Args:
        given: The settings of the store.
        variables: The environment variables of the process.
    """
    if not str(given.get("url") or "").startswith("s3://"):
        return {}
    wanted = PLACE if any(given.get(key) for key in KEYS) else PLACE | KEYS
    found = {
        key: next(filter(variables.get, names), None)
        for key, names in wanted.items()
        if not given.get(key)
    }
    return {key: name for key, name in found.items() if name is not None}
