"""The file of docs/config-file.md, as it stands there, starts a broker that holds what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import TYPE_CHECKING

from mockbroker import MockBroker
from tests.clients.server import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def test_the_broker_has_what_the_file_says(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "config-file.md").read_text("utf-8")
    (block,) = re.findall(r"^```toml\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (tmp_path / "broker.toml").write_text(block, "utf-8")
    (tmp_path / "orders.jsonl").write_text('{"id": 1}\n{"id": 2}\n', "utf-8")
    command = [sys.executable, "-m", "mockbroker", "serve", "--config", "broker.toml"]
    with subprocess.Popen(
        [*command, "--port", "0", "--admin-port", "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout
            check(re.findall(r"admin=(\S+)", process.stdout.readline())[0])
        finally:
            process.terminate()


def check(admin: str) -> None:
    broker = MockBroker.connect(admin)
    assert broker.cluster.brokers == [1, 3]
    broker.cluster.revive(2)  # some of the records are on it alone
    values = {record.value for record in broker.topic("orders").records()}
    assert values == {b"one", b"two", b'{"id": 7, "total": 12.5}', b'{"id": 1}', b'{"id": 2}'}
    assert broker.topic("payments").partitions == 3
    assert len(broker.faults.list()) == 1
