"""The recipes of docs/security.md and the broker that they are for, both as the page has them.

What differs is where it is: a free port, and a folder of its own for the certificates.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mockbroker import MockBroker
from tests.clients.server import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mockbroker.testing.remote.broker import RemoteBroker

ADDRESS, FOLDER, TOPIC = "localhost:9093", "tls/", "orders"
TITLE = "## A recipe a client"


def texts() -> dict[str, str]:
    """The block of code under each client's name; under "" the broker's configuration file."""
    page = (ROOT / "docs" / "security.md").read_text("utf-8")
    section = re.split(r"^## ", page.partition(f"{TITLE}\n")[2], flags=re.MULTILINE)[0]
    return {
        part.partition("\n")[0] if place else "": re.findall(r"```\w+\n(.*?)```", part, re.DOTALL)[
            0
        ]
        for place, part in enumerate(re.split(r"^### ", section, flags=re.MULTILINE))
    }


class Recipes:
    """Of clients of a broker that runs in `folder`."""

    def __init__(self, broker: RemoteBroker, folder: Path) -> None:
        self.broker = broker
        self.folder = folder
        self.bootstrap = broker.bootstrap_servers

    def text(self, client: str) -> str:
        """The recipe, for where the broker is."""
        text = texts()[client]
        assert ADDRESS in text
        return text.replace(ADDRESS, self.bootstrap).replace(FOLDER, f"{self.folder}/{FOLDER}")

    def run(self, *command: str, client: str, seconds: float = 60) -> None:
        """Run a command, which must not fail, and see that its record is alice's."""
        before = self.broker.journal.cursor()
        ran = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, timeout=seconds, check=False
        )
        assert ran.returncode == 0, f"{client}: {ran.stdout}{ran.stderr}"
        self.check(before)

    def check(self, before: int) -> None:
        """One record came since then, from alice."""
        (wrote,) = self.broker.journal.requests(api="Produce", topic=TOPIC, since=before)
        assert wrote.principal == "User:alice"
        assert self.broker.topic(TOPIC).records()[-1].value == b"paid"


@contextmanager
def serving_recipes(folder: Path) -> Iterator[Recipes]:
    """The broker as a process."""
    ready_file, log = folder / "ready.json", folder / "log"
    text = texts()[""].replace(f"//{ADDRESS}", "//localhost:0").replace("9093", "0")
    (folder / "broker.toml").write_text(text)
    command = [sys.executable, "-m", "mockbroker", "serve", "--config", "broker.toml"]
    with (
        log.open("wb") as log_file,
        subprocess.Popen(
            [*command, "--admin-port", "0", "--ready-file", str(ready_file)],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=log_file,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            assert process.stdout.readline(), log.read_text()
            ready = json.loads(ready_file.read_text())
            yield Recipes(MockBroker.connect(ready["admin"]), folder)
        finally:
            process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0, log.read_text()
