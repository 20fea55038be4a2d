"""The certificate of a server that speaks HTTPS itself, without a reverse proxy in front of it."""

import os
import ssl
from pathlib import Path

from greenroom.platform.http.cors import Header

HSTS: Header = (b"strict-transport-security", b"max-age=31536000")
"""Browsers that saw it use HTTPS only for a year. Subdomains are left out: they may belong to other
programs."""


class TlsError(Exception):
    """The certificate cannot be used; the message says why and what to do."""


class Certificate:
    """A certificate chain with its private key. Connections that begin after `reload` get the new
    one, those that are open keep theirs."""

    def __init__(self, cert: Path, key: Path) -> None:
        """Raises TlsError."""
        self._cert = cert
        self._key = key
        self.context = _new_context(cert, key)

    def reload(self) -> None:
        """Reads the files again. Raises TlsError if they are wrong, and the old one stays."""
        self.context = _new_context(self._cert, self._key)


def _new_context(cert: Path, key: Path) -> ssl.SSLContext:
    for file in (cert, key):
        _check_readable(file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(cert, key, password=_refuse_password)
    except ssl.SSLError as error:
        raise TlsError(_explain(cert, key, error)) from error
    return context


def _check_readable(file: Path) -> None:
    try:
        with file.open("rb"):
            pass
    except OSError as error:
        raise TlsError(
            f"The TLS file {file} cannot be read: {os.strerror(error.errno or 0)}. Check the path "
            "and that the server's user may read it."
        ) from error


def _refuse_password() -> str:
    """OpenSSL would ask at the terminal, where nobody answers."""
    raise TlsError(
        "The private key is encrypted, and the server has no password for it. Decrypt it with "
        "`openssl pkey -in KEY -out NEW_KEY` and name the new file."
    )


def _explain(cert: Path, key: Path, error: ssl.SSLError) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return (
            f"The private key in {key} does not belong to the certificate in {cert}. Name the two "
            "files that were made together; the server's certificate stands first in its file."
        )
    return (
        f"{cert} and {key} are not a certificate and its private key in PEM format "
        f"({error.reason or 'unreadable'}). The certificate file begins with "
        "-----BEGIN CERTIFICATE-----, the key file with -----BEGIN … PRIVATE KEY-----."
    )
