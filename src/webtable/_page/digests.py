"""Digests of bodies: how they are made, and whether one is that of a body.

A digest names its algorithm, as in `blake3:af13…`. One that names none is SHA-256: tables that were created before
there was another one have these, and keep them.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Literal

Algorithm = Literal["blake3", "sha256"]


def digest_of(body: bytes, algorithm: Algorithm = "blake3") -> str:
    """Return the digest of *body*.

    >>> digest_of(b"")
    'blake3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262'
    >>> digest_of(b"", "sha256")
    'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
    """
    if algorithm == "sha256":
        return sha256(body).hexdigest()
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
    return named + digest_of(body, "sha256") if algorithm == "sha256" else None
