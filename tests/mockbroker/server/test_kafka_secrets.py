"""Stores and passwords as files, as the variables of Apache Kafka's image name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.cli.serve import read_options
from mockbroker.server import kafka_secrets
from mockbroker.server.kafka_secrets import with_secrets
from mockbroker.server.values import SettingsError

if TYPE_CHECKING:
    from pathlib import Path


def test_files_of_the_folder_become_locations_and_passwords(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text("open sesame\n")
    environment = {
        "MOCKBROKER_KAFKA_ENV": "true",
        "KAFKA_LISTENERS": "SSL://:9093",
        "KAFKA_SSL_KEYSTORE_FILENAME": "server.p12",
        "KAFKA_SSL_KEYSTORE_CREDENTIALS": "key",
        "KAFKA_SSL_KEY_CREDENTIALS": "key",
        "KAFKA_SSL_TRUSTSTORE_FILENAME": "trust.p12",
        "KAFKA_SSL_TRUSTSTORE_CREDENTIALS": "key",
    }
    monkeypatch.setattr(kafka_secrets.with_secrets, "__defaults__", (str(tmp_path),))
    settings, ignored = read_options({}, environment)
    assert ignored == []
    assert settings.config == {
        "ssl.keystore.location": f"{tmp_path}/server.p12",
        "ssl.keystore.password": "open sesame",
        "ssl.key.password": "open sesame",
        "ssl.truststore.location": f"{tmp_path}/trust.p12",
        "ssl.truststore.password": "open sesame",
    }


def test_without_them_nothing_is_looked_for() -> None:
    environment = {"KAFKA_SSL_KEYSTORE_LOCATION": "/x", "KAFKA_SSL_KEY_CREDENTIALS": ""}
    assert with_secrets(environment) is environment


@pytest.mark.parametrize(("content", "reason"), [(None, "no such file"), (b"\xff", "not text")])
def test_a_password_that_cannot_be_read_names_its_variable(
    tmp_path: Path, content: bytes | None, reason: str
) -> None:
    if content is not None:
        (tmp_path / "key").write_bytes(content)
    named = rf"^KAFKA_SSL_KEY_CREDENTIALS: {tmp_path}/key: .*{reason}"
    with pytest.raises(SettingsError, match=named):
        with_secrets({"KAFKA_SSL_KEY_CREDENTIALS": "key"}, str(tmp_path))
