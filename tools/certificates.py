"""Certificates for tests, signed by themselves, for 127.0.0.1."""

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)

DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Made:
    cert: Path
    key: Path
    der: bytes


def make_certificate(folder: Path, name: str = "server", *, password: str = "") -> Made:
    """`name`.pem and `name`.key, written over what is there."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Greenroom's tests")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    cert = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - DAY)
        .not_valid_after(now + DAY)
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    made = Made(folder / f"{name}.pem", folder / f"{name}.key", cert.public_bytes(Encoding.DER))
    made.cert.write_bytes(cert.public_bytes(Encoding.PEM))
    how: KeySerializationEncryption = (
        BestAvailableEncryption(password.encode()) if password else NoEncryption()
    )
    made.key.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, how))
    return made
