"""The host key of a session's ssh server, a new one for each session."""


def make_host_key() -> tuple[bytes, str]:
    """Return a new private key in OpenSSH's format, and the line of its public key."""
    # Only sessions that are connected to pay for the import.
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return private, public.decode("ascii")
