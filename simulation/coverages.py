"""How much of each room of the core the seeds of a run went through.

It imports nothing of the core: `start` it before anything does, or the lines that run when a
module is imported count as if they had not.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from coverage import Coverage

ROOMS = Path(__file__).parent.parent / "mockbroker"


class RoomCoverage:
    """Counts from its making on."""

    def __init__(self) -> None:
        self._covered = Coverage(data_file=None, include=[f"{ROOMS}/*"], config_file=False)
        self._covered.start()

    def tell(self) -> None:
        """A line a room: lines that ran, of those that there are."""
        self._covered.stop()
        ran: Counter[str] = Counter()
        there: Counter[str] = Counter()
        for path in sorted(ROOMS.rglob("*.py")):
            _, statements, _, missing, _ = self._covered.analysis2(str(path))
            room = path.relative_to(ROOMS).parts[0]
            there[room] += len(statements)
            ran[room] += len(statements) - len(missing)
        for room, count in there.items():
            if ran[room]:
                sys.stdout.write(f"{room:<16} {100 * ran[room] / count:5.1f} % of {count} lines\n")
