"""A web site on loopback with a certificate authority of its own: pages by path, and what it was asked."""

import asyncio
import datetime as dt
import ipaddress
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = dt.timedelta(days=1)
NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
LAST = dt.datetime(2126, 1, 1, tzinfo=dt.UTC)


class Trust(NamedTuple):
    """Who is trusted, and a server whose certificate they signed."""

    bundle: bytes
    server: ssl.SSLContext

    @property
    def client(self) -> ssl.SSLContext:
        """Trusts that authority only."""
        return ssl.create_default_context(cadata=self.bundle.decode("ascii"))


def make_trust(folder: Path, *names: str) -> Trust:
    """A throw-away authority and one certificate for these names."""
    authority_key, server_key = (
        ec.generate_private_key(ec.SECP256R1()),
        ec.generate_private_key(ec.SECP256R1()),
    )
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an authority for one test")])
    authority = (
        _certificate(issuer, issuer, authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .add_extension(
            x509.SubjectKeyIdentifier.from_public_key(authority_key.public_key()), critical=False
        )
        .sign(authority_key, hashes.SHA256())
    )
    server = (
        _certificate(x509.Name([]), issuer, server_key.public_key())
        .add_extension(x509.SubjectAlternativeName([_name(name) for name in names]), critical=True)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()),
            critical=False,
        )
        .sign(authority_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    held = folder / "server.pem"
    held.write_bytes(
        server_key.private_bytes(
            pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + server.public_bytes(pem)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(held)
    return Trust(authority.public_bytes(pem), context)


def _name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    made = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    return (
        made.serial_number(x509.random_serial_number())
        .not_valid_before(NOW - DAY)
        .not_valid_after(LAST)
    )


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


class WebSite:
    """Answers requests.

    Args:
        pages: Path to (content type, body); a body of None is a redirect to the content type.
    """

    def __init__(self, pages: Mapping[str, tuple[str, bytes | None]] | None = None) -> None:
        self.pages = dict(pages or {})
        self.port = 0
        self.connections = 0
        self.heads: list[str] = []
        """Every head it received."""
        self.pause_s = 0.0
        """Between the pieces of a body."""

    @property
    def asked(self) -> Sequence[str]:
        """The first lines."""
        return [head.split("\r\n")[0] for head in self.heads]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            self.heads.append(head)
            path = head.split(" ")[1]
            kind, body = self.pages.get(path, ("", b""))
            if body is None:
                writer.write(
                    f"HTTP/1.1 302 Found\r\nLocation: {kind}\r\nContent-Length: 0\r\n\r\n".encode()
                )
            else:
                status = "200 OK" if path in self.pages else "404 Not Found"
                fields = f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close"
                writer.write(f"HTTP/1.1 {status}\r\n{fields}\r\n\r\n".encode())
                await self._send(body, writer)
            await writer.drain()
        except asyncio.LimitOverrunError:
            while await reader.read(1 << 16):
                pass
        except (OSError, EOFError):
            pass
        finally:
            writer.close()

    async def _send(self, body: bytes, writer: asyncio.StreamWriter) -> None:
        for start in range(0, len(body), 1 << 16):
            writer.write(body[start : start + (1 << 16)])
            await writer.drain()
            await asyncio.sleep(self.pause_s)


@asynccontextmanager
async def serving(
    site: WebSite, trust: Trust | None = None, address: str = "127.0.0.1"
) -> AsyncIterator[WebSite]:
    """The site on a free port of a loopback address, with TLS when there is trust."""
    context = trust.server if trust is not None else None
    server = await asyncio.start_server(site._serve, address, 0, ssl=context)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
        await server.wait_closed()
