"""The names in a certificate as text: who a client is that shows it, what a server is called.

A subject is in the form of RFC 2253, as Java writes it (X500Principal.getName), on which Kafka's
rules and ACLs are written: the last part first, `CN=orders,OU=Tests,O=Shop`.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

# RFC 2253, section 2.3, by the bytes of their object identifiers.
_KEYWORDS: Final = {
    bytes.fromhex("550403"): "CN",
    bytes.fromhex("550406"): "C",
    bytes.fromhex("550407"): "L",
    bytes.fromhex("550408"): "ST",
    bytes.fromhex("550409"): "STREET",
    bytes.fromhex("55040a"): "O",
    bytes.fromhex("55040b"): "OU",
    bytes.fromhex("0992268993f22c640119"): "DC",
    bytes.fromhex("0992268993f22c640101"): "UID",
}
_STRINGS: Final = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1C, 0x1E})
"""The tags of ASN.1's strings, which Java reads as UTF-8, whatever they are."""
_ESCAPED: Final = frozenset(',=+<>#;"\\')
_VERSION: Final = 0xA0
_EXTENSIONS: Final = 0xA3
_ALTERNATIVES: Final = bytes.fromhex("551d11")
_ADDRESS: Final = 0x87


def subject_of(certificate: bytes) -> str:
    """Of a certificate in DER that was verified."""
    fields = [value for tag, value in _fields(certificate) if tag != _VERSION]
    # serialNumber, signature, issuer, validity, subject
    names = [
        "+".join(_attribute(value) for _, value in _parts(several))
        for _, several in _parts(fields[4])
    ]
    return ",".join(reversed(names))


def alternatives_of(certificate: bytes) -> list[str]:
    """Its alternative names, as Java lists them: `[2, localhost]`, `[7, 127.0.0.1]`."""
    for tag, value in _fields(certificate):
        if tag != _EXTENSIONS:
            continue
        ((_, extensions),) = _parts(value)
        for _, extension in _parts(extensions):
            (_, identifier), *_, (_, content) = _parts(extension)
            if identifier == _ALTERNATIVES:
                ((_, names),) = _parts(content)
                return [f"[{tag & 0x1F}, {_name(tag, name)}]" for tag, name in _parts(names)]
    return []


def _name(tag: int, value: bytes) -> str:
    if tag == _ADDRESS:
        return str(ip_address(value))
    return value.decode("utf-8", "replace")


def _fields(certificate: bytes) -> Iterator[tuple[int, bytes]]:
    """What is signed (RFC 5280, section 4.1)."""
    ((_, whole),) = _parts(certificate)
    (_, signed), *_ = _parts(whole)
    return _parts(signed)


def _attribute(pair: bytes) -> str:
    (_, identifier), (tag, value) = _parts(pair)
    keyword = _KEYWORDS.get(identifier)
    if keyword is None or tag not in _STRINGS:
        encoded = bytes((tag,)) + _length(len(value)) + value
        return f"{keyword or _dotted(identifier)}=#{encoded.hex()}"
    return f"{keyword}={_escaped(value.decode('utf-8', 'replace'))}"


def _escaped(text: str) -> str:
    inner = text.strip(" ")
    before = len(text) - len(text.lstrip(" ")) if inner else len(text)
    after = len(text) - len(inner) - before
    middle = "".join(
        f"\\{char}" if char in _ESCAPED else "\\00" if char == "\0" else char for char in inner
    )
    return "\\ " * before + middle + "\\ " * after


def _parts(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Tag and content of each element, one after the other."""
    at = 0
    while at < len(data):
        tag, size = data[at], data[at + 1]
        at += 2
        if size >= 0x80:
            count = size & 0x7F
            size = int.from_bytes(data[at : at + count], "big")
            at += count
        yield tag, data[at : at + size]
        at += size


def _length(size: int) -> bytes:
    if size < 0x80:
        return bytes((size,))
    octets = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((0x80 | len(octets),)) + octets


def _dotted(identifier: bytes) -> str:
    numbers = []
    number = 0
    for octet in identifier:
        number = number << 7 | octet & 0x7F
        if octet < 0x80:
            numbers.append(number)
            number = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))
