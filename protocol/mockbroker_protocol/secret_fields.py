"""What of messages proves who a client is, or is a password: nobody is to read it.

`schema` goes by it when a message is printed, and whoever writes messages down.
"""

from __future__ import annotations

from typing import Final

SECRET_FIELDS: Final = frozenset(
    {"auth_bytes", "salt", "salted_password", "hmac", "request_data", "response_data"}
)
"""What proves who a client is; requests have it, and answers about delegation tokens. The last two
are what an envelope holds, which may be such a request, or passwords of configs."""
SECRET_CONFIGS: Final = ("password", "secret", "jaas.config", "sasl.oauthbearer")
"""Words in the names of configs whose values are not told."""
_VALUES: Final = frozenset({"value", "config_value"})


def is_secret(message: object, field: str) -> bool:
    """Whether a field of a message is a secret: by its own name, or by that of its config."""
    if field in SECRET_FIELDS:
        return True
    if field not in _VALUES:
        return False
    name = getattr(message, "name", None)
    return isinstance(name, str) and any(word in name for word in SECRET_CONFIGS)
