"""Blob storage in a bucket of Amazon S3 or a compatible server, through obstore."""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from typing_extensions import override

from bot.blobs.shelf import Entry, Shelf
from bot.domain.storage import StorageSpec
from bot.errors import SettingsError, StoreError

Answer = TypeVar("Answer")

DEFAULT_REGION = "us-east-1"
RETRIES = 5
RETRY_S = 60
"""Time limit for all retries of a request, in seconds."""
CONNECT_S = 5
"""Timeout for connecting, in seconds."""
SILENCE_S = 30
"""Timeout for the next bytes, in seconds."""
REQUEST_S = 600
"""Timeout of a whole request, in seconds."""

_ABSENT = "NoSuchKey"
"""S3's code for a missing object; a missing bucket or server has another one."""
_STATUS = re.compile(r"status code: (\d{3})")


class BucketShelf(Shelf):
    """Objects of a bucket below a prefix. The first call connects.

    Args:
        spec: The bucket, its server and its credentials.
        ca_bundle: Certificates to trust besides the system's.
        retries: Retries of a request that fails with a timeout or status 5xx.

    Raises:
        SettingsError: obstore is not installed.
    """

    def __init__(
        self, spec: StorageSpec, ca_bundle: Path | None = None, *, retries: int = RETRIES
    ) -> None:
        try:
            import obstore  # noqa: F401
        except ImportError as error:
            message = "storage.url names a bucket, and S3 support is not installed"
            raise SettingsError(message, "in MetaAgent's checkout: pip install '.[s3]'") from error
        self._spec = spec
        self._ca_bundle = ca_bundle
        self._retries = retries
        self._opened: Any = None

    @override
    def write(self, key: str, content: bytes) -> None:
        """Put an object in one request, so that an interrupted one leaves nothing behind."""
        import obstore

        self._ask("written", lambda bucket: obstore.put(bucket, key, content, use_multipart=False))

    @override
    def read(self, key: str, most: int) -> bytes | None:
        """Get an object; if it is too large, only as much as proves that."""
        import obstore

        def get(bucket: Any) -> bytes:
            found = obstore.get(bucket, key)
            if found.meta["size"] > most:
                return bytes(obstore.get_range(bucket, key, start=0, length=most + 1))
            return bytes(found.bytes())

        try:
            return self._ask("read", get)
        except FileNotFoundError:
            return None

    @override
    def entries(self, under: str) -> Iterator[Entry]:
        """List the objects below a prefix, page by page."""
        import obstore

        pages = iter(self._ask("listed", lambda bucket: obstore.list(bucket, under)))
        while page := self._ask("listed", lambda _: next(pages, None)):
            yield from (Entry(one["path"], one["size"], one["last_modified"]) for one in page)

    @override
    def remove(self, keys: Sequence[str]) -> None:
        """Delete objects."""
        import obstore

        self._ask("emptied", lambda bucket: obstore.delete(bucket, list(keys)))

    @override
    def clear_up(self, under: str) -> int:
        """Do nothing: an interrupted write leaves nothing behind."""
        return 0

    def _ask(self, verb: str, call: Callable[[Any], Answer]) -> Answer:
        """Run a call; turn its errors into StoreErrors, without texts that may quote secrets.

        Raises:
            FileNotFoundError: the object does not exist.
        """
        from obstore.exceptions import BaseError

        try:
            return call(self._bucket())
        except (BaseError, ValueError, OSError) as error:
            if isinstance(error, FileNotFoundError) and _ABSENT in str(error):
                raise
            status = _STATUS.search(str(error))
            why = f"status {status[1]}" if status else type(error).__name__
            advice = "check the settings storage.*, the bucket and the server"
            raise StoreError(f"{self._spec.url} cannot be {verb} ({why})", advice) from None

    def _bucket(self) -> Any:
        if self._opened is None:
            self._opened = self._open(self._spec)
        return self._opened

    def _open(self, spec: StorageSpec) -> Any:
        from obstore.store import S3Store

        bucket, _, prefix = (spec.url or "").removeprefix("s3://").partition("/")
        given = {
            "endpoint": spec.endpoint,
            "access_key_id": spec.key_id.get_secret_value() if spec.key_id else None,
            "secret_access_key": spec.key.get_secret_value() if spec.key else None,
            "session_token": spec.token.get_secret_value() if spec.token else None,
        }
        named: dict[str, Any] = {name: value for name, value in given.items() if value}
        return S3Store(
            bucket,
            prefix=prefix.strip("/") or None,
            region=spec.region or DEFAULT_REGION,
            client_options=client_options(spec, self._ca_bundle),  # type: ignore[arg-type]
            retry_config={
                "max_retries": self._retries,
                "retry_timeout": timedelta(seconds=RETRY_S),
            },
            **named,
        )


def client_options(spec: StorageSpec, ca_bundle: Path | None) -> dict[str, Any]:
    """Return obstore's HTTP options.

    Args:
        spec: The storage settings, with the server's endpoint.
        ca_bundle: Certificates to trust besides the system's.
    """
    options: dict[str, Any] = {
        "allow_http": (spec.endpoint or "").startswith("http://"),
        "connect_timeout": timedelta(seconds=CONNECT_S),
        "read_timeout": timedelta(seconds=SILENCE_S),
        "timeout": timedelta(seconds=REQUEST_S),
    }
    if ca_bundle is not None:
        options["root_certificate"] = ca_bundle.read_bytes()
    return options
