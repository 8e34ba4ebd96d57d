"""Certificates for the public address: the host's own files, or one made for a trial."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import grpc
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from arbiter.errors import UsageError

TRIAL_DAYS: Final = 90
"""For how long a certificate for a trial is good."""


def load_credentials(certificate: Path, key: Path) -> grpc.ServerCredentials:
    """Server credentials from PEM files.

    Raises:
        UsageError: one can't be read, or they do not belong together.
    """
    try:
        chain, private = certificate.read_bytes(), key.read_bytes()
    except OSError as error:
        raise UsageError(f"{error.filename}: can't be read: {error.strerror}; name PEM files") from error
    try:
        held = x509.load_pem_x509_certificate(chain).public_key()
        wanted = serialization.load_pem_private_key(private, password=None).public_key()
    except (ValueError, TypeError) as error:
        raise UsageError(f"{certificate}, {key}: no certificate and private key in PEM form: {error}") from error
    form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    if held.public_bytes(*form) != wanted.public_bytes(*form):
        raise UsageError(f"{key}: is not the private key of {certificate}")
    return grpc.ssl_server_credentials([(private, chain)])


def self_signed(folder: Path, hosts: Sequence[str]) -> tuple[Path, Path]:
    """A certificate for these hosts and its private key, made anew when there is none that is still good for them.

    Clients have to be given the certificate: it proves nothing else than that it is the same service as before.

    Args:
        folder: where they are kept, made when missing.
        hosts: names and addresses by which clients dial.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    if not (certificate.exists() and key.exists() and _good(certificate, hosts)):
        private = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hearts-arbiter trial")])
        now = datetime.now(UTC)
        made = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(private.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=TRIAL_DAYS))
            .add_extension(x509.SubjectAlternativeName([_host(host) for host in hosts]), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(private, hashes.SHA256())
        )
        form = serialization.PrivateFormat.PKCS8
        pem = private.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
        _write(key, pem, 0o600)
        _write(certificate, made.public_bytes(serialization.Encoding.PEM), 0o644)
    return certificate, key


def is_loopback(listen: str) -> bool:
    """Whether an address to listen at, ``unix:PATH`` or ``HOST:PORT``, is this machine's alone."""
    if listen.startswith("unix:"):
        return True
    host = listen.rpartition(":")[0].strip("[]")
    try:
        places = socket.getaddrinfo(host, None, flags=socket.AI_PASSIVE)
    except OSError:
        return False
    return all(ipaddress.ip_address(place[4][0]).is_loopback for place in places)


def _good(certificate: Path, hosts: Sequence[str]) -> bool:
    try:
        held = x509.load_pem_x509_certificate(certificate.read_bytes())
        names = held.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (ValueError, x509.ExtensionNotFound):
        return False
    return held.not_valid_after_utc > datetime.now(UTC) + timedelta(days=1) and all(
        _host(host) in names for host in hosts
    )


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _write(path: Path, content: bytes, mode: int) -> None:
    """Replace a file whole, never readable by more than ``mode`` says."""
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode), "wb") as file:
        file.write(content)
    new.replace(path)
