"""Keys of Apps, and the certificate of a server."""

import datetime as dt
import functools
import ipaddress
from typing import Any


def new_private_key() -> str:
    """An RSA key for an App."""
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()
    ).decode()


@functools.lru_cache(4)
def public_key(private_key_pem: str) -> Any:
    """The other half of a key; reading one takes a tenth of a second, and every JWT needs it."""
    return load_key(private_key_pem).public_key()


def load_key(private_key_pem: str) -> Any:
    """Return the key of a PEM text."""
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    return load_pem_private_key(private_key_pem.encode(), None)


def new_certificate(address: str) -> str:
    """Return a key and a certificate of its own authority for an IP address, for one day."""
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import Encoding

    pem = new_private_key()
    key = load_key(pem)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "local GitHub")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]),
            critical=False,
        )
        .sign(key, SHA256())
    )
    return pem + certificate.public_bytes(Encoding.PEM).decode()
