"""A Python client under the scenarios of a failover, as a program (see `program`).

Usage: python -m tests.clients.failover.python_program LIBRARY BOOTSTRAP PROTOCOL [RACK]
"""

from __future__ import annotations

import sys
from importlib import import_module

from tests.clients.failover.teller import Teller

LIBRARIES = {"confluent-kafka": "confluent", "kafka-python": "kafka_python", "aiokafka": "aio"}


def main(library: str, bootstrap: str, protocol: str, *rack: str) -> None:
    make_client = import_module(f"tests.clients.failover.{LIBRARIES[library]}").make_client
    client = make_client(bootstrap, Teller(), protocol, *rack)
    for line in sys.stdin:
        verb, *members = line.split()
        getattr(client, verb)(*map(int, members))
    client.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
