"""What the broker signs is checked by the keys that it tells."""

from __future__ import annotations

import pytest

pytest.importorskip("cryptography", reason="the extra tls is not installed")

from mockbroker.security.bearer_token import InvalidTokenError
from mockbroker.security.json_web_keys import JsonWebKeys, check_signature
from mockbroker.server.own_keys import OwnKeys


def test_each_has_a_key_of_its_own() -> None:
    one, other = OwnKeys(), OwnKeys()
    signature = one.sign(b"data")
    key_id = str(one.header()["kid"])
    found = JsonWebKeys.parse(one.text()).find("ES256", key_id)
    check_signature("ES256", found, b"data", signature)
    with pytest.raises(InvalidTokenError):
        check_signature("ES256", found, b"date", signature)
    found = JsonWebKeys.parse(other.text()).find("ES256", key_id)
    with pytest.raises(InvalidTokenError):
        check_signature("ES256", found, b"data", signature)
    one.missing()
    assert one.text() != other.text()
    assert '"d"' not in one.text()
