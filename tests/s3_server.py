"""A server that speaks S3, on a free port of this machine: moto's, in a thread, its objects in memory."""

import contextlib
import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

import httpx
from pydantic import SecretStr

from bot.domain.storage import StorageSpec


@dataclass(frozen=True)
class S3Server:
    """A server that answers."""

    endpoint: str

    def new_bucket(self, prefix: str = "") -> StorageSpec:
        """The settings of one more bucket."""
        name = f"b-{uuid4().hex}"
        httpx.put(f"{self.endpoint}/{name}", timeout=60).raise_for_status()
        return StorageSpec(
            url=f"s3://{name}/{prefix}",
            endpoint=self.endpoint,
            region="us-east-1",
            key_id=SecretStr("AKIDEXAMPLE"),
            key=SecretStr("a-secret-access-key"),
        )


@contextmanager
def an_s3_server() -> Iterator[S3Server]:
    """A new server, until the end."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    with contextlib.redirect_stdout(io.StringIO()):
        server.start()
    host, port = server.get_host_and_port()
    try:
        yield S3Server(f"http://{host}:{port}")
    finally:
        server.stop()
