"""Key stores and passwords as Apache Kafka's image takes them: files in its folder of secrets.

`cli.serve` asks it before `kafka_environment` reads the variables. `KAFKA_SSL_KEYSTORE_FILENAME`
names a file there, and `KAFKA_SSL_KEYSTORE_CREDENTIALS` one with its password (Kafka: the script
`configure` of the image).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from mockbroker.server.values import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

SECRETS: Final = "/etc/kafka/secrets"
_STORES: Final = {
    "KAFKA_SSL_KEYSTORE_FILENAME": "KAFKA_SSL_KEYSTORE_LOCATION",
    "KAFKA_SSL_TRUSTSTORE_FILENAME": "KAFKA_SSL_TRUSTSTORE_LOCATION",
}
_PASSWORDS: Final = {
    "KAFKA_SSL_KEY_CREDENTIALS": "KAFKA_SSL_KEY_PASSWORD",
    "KAFKA_SSL_KEYSTORE_CREDENTIALS": "KAFKA_SSL_KEYSTORE_PASSWORD",
    "KAFKA_SSL_TRUSTSTORE_CREDENTIALS": "KAFKA_SSL_TRUSTSTORE_PASSWORD",
}


def with_secrets(environment: Mapping[str, str], folder: str = SECRETS) -> Mapping[str, str]:
    """The variables with what those of the image stand for. Raises SettingsError."""
    if not any(environment.get(variable) for variable in (*_STORES, *_PASSWORDS)):
        return environment
    found = dict(environment)
    for variable, stands_for in _STORES.items():
        name = found.pop(variable, "")
        if name:
            found[stands_for] = f"{folder}/{name}"
    for variable, stands_for in _PASSWORDS.items():
        name = found.pop(variable, "")
        if name:
            found[stands_for] = _read(variable, Path(folder, name))
    return found


def _read(variable: str, file: Path) -> str:
    try:
        return file.read_text("utf-8").rstrip("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise SettingsError(variable, f"{file}: {reason.lower()}", "a readable file") from None
