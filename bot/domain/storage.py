"""Where large values are kept: settings of the store."""

from collections.abc import Mapping

from pydantic import ConfigDict, Field, SecretStr

from sandbox.types import Frozen

PLACE = {
    "endpoint": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    "region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
}
KEYS = {"key_id": ("AWS_ACCESS_KEY_ID",), "key": ("AWS_SECRET_ACCESS_KEY",), "token": ("AWS_SESSION_TOKEN",)}


class StorageSpec(Frozen):
    """The store of evidence, logs and large results of steps."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    url: str | None = Field(default=None, pattern=r"^(s3://[a-z0-9][a-z0-9.-]+(/[A-Za-z0-9._/-]*)?|file:///.+)$")
    """`s3://BUCKET/PREFIX`, or a folder that all processes share, `file:///…`; by default `blobs/` of the data
    directory. One service, one place: nobody else's values may be there."""
    endpoint: str | None = Field(default=None, pattern=r"^https?://[^/\s?#@]+/?$")
    """The server that speaks S3, `https://s3.example.com`; Amazon's by default. `AWS_ENDPOINT_URL_S3` and
    `AWS_ENDPOINT_URL` count too."""
    region: str | None = None
    """The bucket's region; `AWS_REGION` and `AWS_DEFAULT_REGION` count too."""
    key_id: SecretStr | None = None
    """Who we are there; `AWS_ACCESS_KEY_ID` counts too. Without any the machine's own role is asked for."""
    key: SecretStr | None = None
    """The secret access key; `AWS_SECRET_ACCESS_KEY` counts too."""
    token: SecretStr | None = None
    """Of a session; `AWS_SESSION_TOKEN` counts too."""


def usual_names(given: Mapping[str, object], variables: Mapping[str, str]) -> dict[str, str]:
    """Which variables that every tool for S3 reads count for what was not given; keys only all together, of one owner.

    Args:
        given: The settings of the store.
        variables: Of the process.
    """
    if not str(given.get("url") or "").startswith("s3://"):
        return {}
    wanted = PLACE if any(given.get(key) for key in KEYS) else PLACE | KEYS
    found = {key: next(filter(variables.get, names), None) for key, names in wanted.items() if not given.get(key)}
    return {key: name for key, name in found.items() if name is not None}
