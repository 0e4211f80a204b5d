"""Digests of bodies: how they are made, and whether one is that of a body.

A digest names its algorithm, as in `blake3:af13…`: that is the one of a body that is put. Others come with captures
whose body is not here; one that names none is taken for SHA-256.
"""

from __future__ import annotations

from hashlib import sha256


def digest_of(body: bytes) -> str:
    """Return the digest of *body*.

    >>> digest_of(b"")
    'blake3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262'
    """
    # Here, for it takes some milliseconds, and who reads a page does without.
    from blake3 import blake3

    return f"blake3:{blake3(body).hexdigest()}"


def algorithm_of(digest: str) -> str:
    """Return the name of the algorithm of *digest*, which may be one that is not known here.

    >>> algorithm_of("blake3:af1349"), algorithm_of("e3b0c4"), algorithm_of("sha1:ABCDEF")
    ('blake3', 'sha256', 'sha1')
    """
    return digest.rpartition(":")[0] or "sha256"


def digest_like(digest: str, body: bytes) -> str | None:
    """Return the digest of *body* by the algorithm of *digest*, None where that is not known here."""
    algorithm = algorithm_of(digest)
    if algorithm == "blake3":
        return digest_of(body)
    named = "sha256:" if digest.startswith("sha256:") else ""
    return named + sha256(body).hexdigest() if algorithm == "sha256" else None
