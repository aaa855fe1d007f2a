"""Certificates made for a test: an authority of its own, and what it signs.

`tls_auto` makes those of a broker and its clients. Needs `cryptography` (the extra `tls`). Keys are
of the curve P-256: quick to make, and known to every client.
"""

from __future__ import annotations

from datetime import timedelta
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

AUTHORITY: Final = "mockbroker test authority"
_CLOCKS_DIFFER: Final = timedelta(days=1)
"""So long before it is made a certificate is valid."""
_VALID: Final = timedelta(days=397)


class Certificate(NamedTuple):
    """A certificate and its private key, as PEM."""

    certificate: str
    key: str


class Authority:
    """Signs certificates, each valid from a day before `now`, for a year or as asked for."""

    def __init__(self, now: datetime, called: str = AUTHORITY) -> None:
        self._now = now
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, called)])
        builder = self._builder(self._name, self._key, _VALID).add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        usage = dict.fromkeys(_USAGES, False) | {"key_cert_sign": True, "crl_sign": True}
        builder = builder.add_extension(x509.KeyUsage(**usage), critical=True)
        self.certificate: str = _pem(builder.sign(self._key, hashes.SHA256()))

    def issue(
        self, subject: str, names: Iterable[str] = (), valid: timedelta = _VALID
    ) -> Certificate:
        """One for `CN=subject`, and for servers under these host names and addresses.

        A negative `valid` is of one that has expired so long ago.
        """
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
        hosts = [_general_name(host) for host in dict.fromkeys(names)]
        return self._issue(name, hosts, valid)

    def imitate(self, certificate: bytes, valid: timedelta = _VALID) -> Certificate:
        """One for the subject and the hosts of another certificate, which is DER."""
        other = x509.load_der_x509_certificate(certificate)
        try:
            found = other.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        except x509.ExtensionNotFound:
            hosts = []
        else:
            hosts = list(found.value)
        return self._issue(other.subject, hosts, valid)

    def _issue(
        self, subject: x509.Name, hosts: list[x509.GeneralName], valid: timedelta
    ) -> Certificate:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(subject, key, valid)
        purposes = [ExtendedKeyUsageOID.CLIENT_AUTH]
        if hosts:
            purposes.append(ExtendedKeyUsageOID.SERVER_AUTH)
            alternatives = x509.SubjectAlternativeName(hosts)
            builder = builder.add_extension(alternatives, critical=False)
        usage = dict.fromkeys(_USAGES, False) | {"digital_signature": True}
        builder = (
            builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.KeyUsage(**usage), critical=True)
            .add_extension(x509.ExtendedKeyUsage(purposes), critical=False)
        )
        secret: bytes = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return Certificate(_pem(builder.sign(self._key, hashes.SHA256())), secret.decode())

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, valid: timedelta
    ) -> x509.CertificateBuilder:
        end = self._now + valid
        own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        signer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(min(self._now, end) - _CLOCKS_DIFFER)
            .not_valid_after(end)
            .add_extension(own, critical=False)
            .add_extension(signer, critical=False)
        )


_USAGES: Final = (
    "digital_signature",
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "key_cert_sign",
    "crl_sign",
    "encipher_only",
    "decipher_only",
)


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> str:
    text: bytes = certificate.public_bytes(Encoding.PEM)
    return text.decode()
