"""Keys of Apps."""

import functools
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
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    return load_pem_private_key(private_key_pem.encode(), None).public_key()
