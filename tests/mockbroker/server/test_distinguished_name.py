"""The subject of a certificate, as Java writes it: its own answers are the goldens."""

from __future__ import annotations

import pytest

from mockbroker.server.distinguished_name import subject_of

LONG = "78" * 200


def element(tag: int, *content: bytes) -> bytes:
    whole = b"".join(content)
    size = len(whole)
    octets = bytes((size,)) if size < 0x80 else b"\x82" + size.to_bytes(2, "big")
    return bytes((tag,)) + octets + whole


def certificate(subject: bytes, *, version: bool = True) -> bytes:
    """What stands before the subject, and something behind it."""
    before = element(0xA0, b"\x02\x01\x02") if version else b""
    rest = (element(2, b"\x01"), element(0x30), element(0x30, b"\x05\x00"), element(0x30))
    return element(0x30, element(0x30, before, *rest, subject, element(0x30)), element(3, b"\0"))


GERMAN = (
    "3079310b3009060355040613024445310f300d06035504080c0642617965726e3111300f06035504070c084dc3bc"
    "6e6368656e31253023060355040a0c1c53686f702c20496e632e202b203c783e3b20227922205c7a203d2023310e"
    "300c060355040b0c05236c656164310f300d06035504030c066f7264657273"
)
RARE = (
    "3081883114301206092a864886f70d01090116056140622e63310b3009060355040513023432310b300906035504"
    "0c0c024472310c300a060355042a0c03416e6e31173015060a0992268993f22c64011916076578616d706c653112"
    "3010060a0992268993f22c6401010c027531310f300d06035504090c064d61696e2031310a300806035504030c01"
    "78"
)
RARE_TEXT = (
    "CN=x,STREET=Main 1,UID=u1,DC=example,2.5.4.42=#0c03416e6e,2.5.4.12=#0c024472,"
    "2.5.4.5=#13023432,1.2.840.113549.1.9.1=#16056140622e63"
)
SEVERAL = (
    "30393125300806035504030c01613008060355040b0c0162300f060a0992268993f22c6401010c01633110300e06"
    "0355040a0c07202074776f2020"
)
ENCODED = (
    "30820116310c300a06035504030c03610062310f300d060355040a1e060062006d0070310e300c060355040b0c05"
    "743631c3a9310f300d06042a0304050c056f746865723181d33081d006038837030c81c8" + LONG
)
ENCODED_TEXT = rf"2.999.3=#0c81c8{LONG},1.2.3.4.5=#0c056f74686572,OU=t61é,O=\00b\00m\00p,CN=a\00b"


@pytest.mark.parametrize(
    ("subject", "text"),
    [
        (
            GERMAN,
            (
                r"CN=orders,OU=\#lead,O=Shop\, Inc. \+ \<x\>\; \"y\" \\z \= \#"
                ",L=München,ST=Bayern,C=DE"
            ),
        ),
        (RARE, RARE_TEXT),
        (SEVERAL, r"O=\ \ two\ \ ,CN=a+OU=b+UID=c"),
        ("300c310a300806035504030c0120", r"CN=\ "),
        (ENCODED, ENCODED_TEXT),
        ("3000", ""),
    ],
)
def test_a_subject_is_written_as_java_does(subject: str, text: str) -> None:
    assert subject_of(certificate(bytes.fromhex(subject))) == text


def test_a_certificate_of_the_first_version_names_no_version() -> None:
    subject = bytes.fromhex("300c310a300806035504030c0120")
    assert subject_of(certificate(subject, version=False)) == r"CN=\ "
