"""Key and trust stores as Kafka's configs name them, and what is said of those that do not do."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest

from mockbroker.server.key_stores import StoreError, load_key_store, load_trust_store
from tests.support.certificates import authority, client, configs, server

if TYPE_CHECKING:
    from pathlib import Path

serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
pkcs12 = pytest.importorskip("cryptography.hazmat.primitives.serialization.pkcs12")
x509 = pytest.importorskip("cryptography.x509")

SECRET = b"open sesame"


def loaded(texts: dict[str, str]) -> ssl.SSLContext:
    """A context with the key store, and the trust store, of these configs."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    load_key_store(context, texts.get)
    load_trust_store(context, texts.get)
    return context


def pkcs12_file(folder: Path, *, key: bool = True) -> str:
    shown = server()
    certificate = x509.load_pem_x509_certificate(shown.certificate.encode())
    trusted = x509.load_pem_x509_certificate(authority().certificate.encode())
    private = serialization.load_pem_private_key(shown.key.encode(), None)
    file = folder / "store.p12"
    encryption = serialization.BestAvailableEncryption(SECRET)
    data: bytes = pkcs12.serialize_key_and_certificates(
        b"kafka",
        private if key else None,
        certificate if key else None,
        [trusted],
        encryption,
    )
    file.write_bytes(data)
    return str(file)


def subjects(context: ssl.SSLContext) -> list[object]:
    return [each["subject"] for each in context.get_ca_certs()]


AUTHORITY = [((("commonName", "mockbroker test authority"),),)]


def test_pem_may_be_inline_or_in_files(tmp_path: Path) -> None:
    assert subjects(loaded(configs())) == AUTHORITY
    files = {name: tmp_path / name for name in ("key", "trust")}
    files["key"].write_text("a comment\n" + server().key + server().certificate)
    files["trust"].write_text("a comment\n" + authority().certificate)
    texts = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(files["key"]),
        "ssl.truststore.type": "pem",
        "ssl.truststore.location": str(files["trust"]),
    }
    assert subjects(loaded(texts)) == AUTHORITY


def test_a_key_may_be_encrypted() -> None:
    private = serialization.load_pem_private_key(server().key.encode(), None)
    key: bytes = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(SECRET),
    )
    texts = configs() | {"ssl.keystore.key": key.decode()}
    loaded(texts | {"ssl.key.password": SECRET.decode()})
    for wrong in ({}, {"ssl.key.password": "wrong"}):
        with pytest.raises(StoreError, match=r"ssl\.key\.password is not that of the key"):
            loaded(texts | wrong)


@pytest.mark.parametrize("kind", ["PKCS12", "JKS", None])
def test_pkcs12_is_read_under_either_of_its_types(tmp_path: Path, kind: str | None) -> None:
    file = pkcs12_file(tmp_path)
    texts = {
        "ssl.keystore.location": file,
        "ssl.keystore.password": SECRET.decode(),
        "ssl.truststore.location": file,
        "ssl.truststore.password": SECRET.decode(),
    }
    if kind is not None:
        texts |= {"ssl.keystore.type": kind, "ssl.truststore.type": kind}
    assert AUTHORITY[0] in subjects(loaded(texts))


def test_without_a_trust_store_those_of_the_machine_are_trusted() -> None:
    texts = configs()
    del texts["ssl.truststore.certificates"]
    loaded(texts)


PEM = {"ssl.keystore.type": "PEM"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ssl.keystore.key": None}, r"^ssl\.keystore\.key: it goes with ssl\.keystore\.cert"),
        ({"ssl.keystore.type": None}, r"^ssl\.keystore\.key: ssl\.keystore\.type is JKS; allowed"),
        ({"ssl.keystore.type": "BCFKS"}, r"^ssl\.keystore\.type: BCFKS is unknown; allowed: PEM"),
        ({"ssl.keystore.location": "/x"}, r"^ssl\.keystore\.key: not beside ssl\.keystore\.loca"),
        ({"ssl.keystore.password": "x"}, r"^ssl\.keystore\.password: PEM has none"),
        ({"ssl.keystore.key": "nonsense"}, r"^ssl\.keystore\.certificate\.chain: no certificate"),
        ({"ssl.keystore.key": client().key}, "the private key is not that of the certificate"),
        (
            {"ssl.keystore.key": None, "ssl.keystore.certificate.chain": None},
            r"^ssl\.keystore\.location: a listener with TLS needs one; allowed: .*--tls auto",
        ),
        (
            {"ssl.truststore.type": None},
            r"^ssl\.truststore\.certificates: ssl\.truststore\.type is",
        ),
        ({"ssl.truststore.location": "/x"}, r"^ssl\.truststore\.certificates: not beside"),
        ({"ssl.truststore.password": "x"}, r"^ssl\.truststore\.password: PEM has none"),
        ({"ssl.truststore.certificates": "x"}, "there is no certificate in it"),
        (
            {
                "ssl.truststore.certificates": "-----BEGIN CERTIFICATE-----\nMAA=\n"
                "-----END CERTIFICATE-----"
            },
            r"^ssl\.truststore\.certificates: a certificate cannot be read",
        ),
    ],
)
def test_what_does_not_go_together_is_told(change: dict[str, str | None], message: str) -> None:
    merged = {**configs(), **change}
    texts = {key: text for key, text in merged.items() if text is not None}
    with pytest.raises(StoreError, match=message):
        loaded(texts)


@pytest.mark.parametrize(
    ("name", "content", "more", "message"),
    [
        ("none.pem", None, PEM, r"none\.pem: no such file or directory; allowed: a readable file"),
        ("a.pem", b"nothing", PEM, r"^ssl\.keystore\.location: no certificate and key in PEM"),
        ("a.pem", b"", PEM | {"ssl.keystore.password": "x"}, r"^ssl\.keystore\.password: a PEM"),
        ("a.pem", b"-----BEGIN X", {}, r"^ssl\.keystore\.type: .*is PEM; allowed: .*type=PEM$"),
        (
            "a.jks",
            b"\xfe\xed\xfe\xed\0\0\0\2",
            {"ssl.keystore.password": "x"},
            r"a\.jks is a JKS store, which Java alone reads; allowed: .*-destkeystore .*/a\.p12",
        ),
        ("a.p12", b"\x30\x00", {}, r"^ssl\.keystore\.password: the store has one"),
        ("a.p12", b"\x30\x00", {"ssl.keystore.password": "x"}, "is no PKCS12 store, or not of"),
    ],
)
def test_a_file_that_does_not_do_is_told(
    tmp_path: Path, name: str, content: bytes | None, more: dict[str, str], message: str
) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(StoreError, match=message):
        loaded({"ssl.keystore.location": str(file), **more})


def test_a_store_of_certificates_has_no_key(tmp_path: Path) -> None:
    texts = {
        "ssl.keystore.location": pkcs12_file(tmp_path, key=False),
        "ssl.keystore.password": SECRET.decode(),
    }
    with pytest.raises(StoreError, match="has no key"):
        loaded(texts)


def test_pkcs12_without_its_library_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = pkcs12_file(tmp_path)
    monkeypatch.setitem(
        __import__("sys").modules, "cryptography.hazmat.primitives.serialization.pkcs12", None
    )
    with pytest.raises(StoreError, match=r"PKCS12 needs the extra tls; .*mockbroker\[tls\]"):
        loaded({"ssl.keystore.location": file, "ssl.keystore.password": "x"})
