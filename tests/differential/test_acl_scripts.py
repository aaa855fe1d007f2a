"""Every API is asked about in the scripts of ACLs, with this allowed and with that."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from mockbroker.apis.registry import SERVED
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.schema import ZERO_UUID
from tests.differential.acl_steps import authorizer_steps
from tests.differential.steps import Known
from tests.differential.stranger_steps import stranger_steps

BEFORE_A_LOGIN = {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
"""They are for those whom no ACL knows yet: test_logins.py."""


class Anything(Known):
    """Knows each id that a step asks for."""

    def __getitem__(self, name: str) -> Any:
        return ZERO_UUID if name.startswith("id of ") else 1


def test_no_api_is_without_steps_that_acls_decide() -> None:
    asked: dict[int, set[int]] = defaultdict(set)
    changes = 0
    for step in (*authorizer_steps(), *stranger_steps()):
        key: int = step.request(Anything()).API_KEY  # type: ignore[attr-defined]  # a request
        asked[key].add(changes)
        changes += key in (ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS)
    once = {ApiKey(key).name for key in set(SERVED) - BEFORE_A_LOGIN if len(asked[key]) < 2}
    assert once == set()
