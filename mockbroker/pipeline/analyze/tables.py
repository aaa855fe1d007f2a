"""All tables, each after those that it is made of; docs/analyze.md explains their columns.

Called by `job`. `table` says how one is added.
"""

from __future__ import annotations

from typing import Final

from mockbroker.pipeline.analyze import (
    conformance,
    diagnosis,
    fetching,
    groups,
    overview,
    rotation,
    service,
    sessions,
    sharing,
    transactions,
    waits,
)

TABLES: Final = {
    table.name: table
    for module in (
        overview, fetching, sessions, waits, service, rotation, conformance, diagnosis, groups,
        sharing, transactions,
    )
    for table in module.TABLES
}  # fmt: skip

OF_CLIENTS: Final = (
    "fetch_series_clients", "wait_histogram_clients", "high_watermark_histogram_clients",
    "response_fill_clients",
)  # fmt: skip
"""What plots are drawn of when the page is asked for some clients: bounded, and nowhere else."""
PAGE_ROWS: Final = 4_000
"""At most so many rows of a table are looked at for the page."""
