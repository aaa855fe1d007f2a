"""Writes the admin API's OpenAPI document into a file: python -m scripts.openapi FILE.

It is what GET /v1/openapi.json of a running broker answers; clients in other languages are
generated from it (docs/languages.md).
"""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.request import urlopen

from mockbroker import MockBroker


def document() -> bytes:
    """The document of this tree."""
    with MockBroker(admin_port=0) as broker, urlopen(f"{broker.admin_url}/v1/openapi.json") as page:
        found: bytes = page.read()
        return found


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(document())
