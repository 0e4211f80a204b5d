"""Certificates for tests: an authority, and what it has signed."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12

KEYSTORE_PASSWORD = "keystore-password"


class Authority:
    """Signs certificates, and keeps them as files in *folder*."""

    def __init__(self, folder: Path, name: str = "test authority") -> None:
        self._folder = folder
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        self._certificate = (
            _builder(self._name, self._name, self._key.public_key(), timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.file = folder / f"{name.replace(' ', '-')}.pem"
        self.file.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def sign(self, *names: str, valid: timedelta = timedelta(days=1), password: bytes | None = None) -> Path:
        """Return a PEM file with a certificate for hosts and addresses, and its key, which *password* encrypts."""
        key = ec.generate_private_key(ec.SECP256R1())
        signed = self._signed(key, names, valid)
        shield = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
        private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, shield)
        file = self._folder / f"{x509.random_serial_number()}.pem"
        file.write_bytes(signed.public_bytes(serialization.Encoding.PEM) + private)
        return file

    def keystore(self, *names: str, valid: timedelta = timedelta(days=1)) -> bytes:
        """Return a keystore for Java, in PKCS #12."""
        key = ec.generate_private_key(ec.SECP256R1())
        shield = serialization.BestAvailableEncryption(KEYSTORE_PASSWORD.encode())
        return pkcs12.serialize_key_and_certificates(
            b"gateway", key, self._signed(key, names, valid), [self._certificate], shield
        )

    def server_context(self, *names: str, valid: timedelta = timedelta(days=1)) -> ssl.SSLContext:
        """Return what a server with such a certificate speaks TLS by."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.sign(*names, valid=valid))
        return context

    def _signed(self, key: ec.EllipticCurvePrivateKey, names: tuple[str, ...], valid: timedelta) -> x509.Certificate:
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "gateway")])
        issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            _builder(subject, self._name, key.public_key(), valid)
            .add_extension(x509.SubjectAlternativeName([_name(name) for name in names]), critical=False)
            .add_extension(issuer_key, critical=False)
            .sign(self._key, hashes.SHA256())
        )


def _name(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, valid: timedelta
) -> x509.CertificateBuilder:
    """Return a certificate from two days ago until *valid* from now on, which may be in the past."""
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=2))
        .not_valid_after(now + valid)
    )
