"""What a job did, as a value and as one line; every job returns a `Summary`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final

_UNITS: Final = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


@dataclass(slots=True)
class Summary:
    """Rows and bytes (of keys, values and headers) that passed, and the seconds it took.

    Of a job that passes no rows `unit` says what `rows` counts.

    `seconds` is the job alone; `command` fills it. `notes` are more words for the line, `figures`
    more numbers for `--json`, `tables` are printed above the line, and are texts within the JSON.
    `status` is the exit status.
    """

    job: str
    rows: int
    bytes: int
    target: str
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    figures: dict[str, object] = field(default_factory=dict)
    tables: list[str] = field(default_factory=list)
    status: int = 0
    unit: str = "rows"

    def line(self) -> str:
        """The summary line."""
        rate = f", {self.rows / self.seconds:,.0f} {self.unit}/s" if self.seconds > 0 else ""
        head = f"{self.job}: {self.rows:,} {self.unit}, {human_bytes(self.bytes)} {self.target}"
        return "; ".join([f"{head} in {self.seconds:.1f} s{rate}", *self.notes])

    def as_json(self) -> str:
        """The same for machines, on one line."""
        fields = {
            "job": self.job,
            "rows": self.rows,
            "bytes": self.bytes,
            "target": self.target,
            "seconds": round(self.seconds, 3),
            "notes": self.notes,
            # Of verify; the tables of analyze are figures.
            **({"tables": self.tables} if self.tables else {}),
            "status": self.status,
        }
        return json.dumps({**fields, **self.figures})


def human_bytes(count: int) -> str:
    """The count in decimal units."""
    for size, unit in _UNITS:
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} B"


def table(header: list[str], rows: list[list[str]]) -> str:
    """Columns padded to their widest cell, numbers to the right."""
    cells = [header, *rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = []
    for row in cells:
        padded = (
            cell.rjust(width) if cell.replace(",", "").isdigit() else cell.ljust(width)
            for cell, width in zip(row, widths, strict=True)
        )
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)
