"""How much of each room of the core the seeds of a run went through.

A line a room: of all its lines, and of those that a simulated cluster can reach. What it cannot is
in `OUTSIDE`, each with its reason; nothing else is left out.

It imports nothing of the core: make one before anything does, or the lines that run when a module
is imported count as if they had not.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from coverage import Coverage

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOMS = Path(__file__).parent.parent / "mockbroker"
CORE: Final = (
    "apis", "cluster", "config", "coop", "coordinator", "fetch", "faults", "journal", "log",
    "metadata", "node", "purgatory", "quorum", "re2", "replica", "security", "state", "telemetry",
)  # fmt: skip
"""What the goal is about, single modules apart; the others are shells around it."""
GOAL: Final = 85.0
SOCKETS: Final = "sockets and TLS are the shell's: simulated clients hand over bytes in the clear"
FILES: Final = "a process reads or writes a file; a simulated cluster has none"
OUTSIDE: Final[Mapping[str, Mapping[str, str]]] = {
    "node/tls_session.py": {"": SOCKETS},
    "node/broker.py": {"Broker.handshake_failed": SOCKETS, "Broker.ended": SOCKETS},
    "state/seeds.py": dict.fromkeys(
        (
            "read_records",
            "_json_rows",
            "_json_lines",
            "_csv_rows",
            "_avro_rows",
            "_parquet_rows",
            "_missing",
        ),
        FILES,
    ),
    "state/snapshot_file.py": {"save": FILES, "load": FILES},
    "state/preparation.py": {"Preparation.restore": FILES},
}
"""By module, and in it by function, class or method (`Class.method`; empty: all of it): why no
simulated cluster reaches it."""


class Reached(NamedTuple):
    """How many lines there are of a room, and ran: of all, and of those in reach."""

    there: int
    ran: int
    in_reach: int
    ran_in_reach: int

    @property
    def share(self) -> float:
        """Of all lines, in percent."""
        return 100 * self.ran / max(1, self.there)

    @property
    def share_in_reach(self) -> float:
        """Of those in reach, in percent."""
        return 100 * self.ran_in_reach / max(1, self.in_reach)


def lines_outside(source: str, names: Mapping[str, str]) -> set[int]:
    """The lines of these functions, classes and methods. Raises KeyError for one that is none."""
    tree = ast.parse(source)
    if "" in names:
        return set(range(1, source.count("\n") + 2))
    found = dict(_named(tree, ""))
    return {
        line
        for name in names
        for line in range(found[name].lineno, (found[name].end_lineno or 0) + 1)
    }


def _named(
    tree: ast.AST, prefix: str
) -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]]:
    found = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.append((f"{prefix}{node.name}", node))
            found += _named(node, f"{prefix}{node.name}.")
    return found


class RoomCoverage:
    """Counts from its making on."""

    def __init__(self) -> None:
        self._covered = Coverage(data_file=None, include=[f"{ROOMS}/*"], config_file=False)
        self._covered.start()

    def rooms(self) -> dict[str, Reached]:
        """What ran of each room that was entered."""
        self._covered.stop()
        counts: dict[str, Counter[str]] = {}
        for path in sorted(ROOMS.rglob("*.py")):
            _, statements, _, missing, _ = self._covered.analysis2(str(path))
            name = path.relative_to(ROOMS).as_posix()
            names = OUTSIDE.get(name, {})
            outside = lines_outside(path.read_text("utf-8"), names) if names else set()
            count = counts.setdefault(name.partition("/")[0], Counter())
            ran = set(statements) - set(missing)
            count["there"] += len(statements)
            count["ran"] += len(ran)
            count["in_reach"] += len(set(statements) - outside)
            count["ran_in_reach"] += len(ran - outside)
        return {
            room: Reached(*(count[name] for name in Reached._fields))
            for room, count in counts.items()
            if count["ran"]
        }

    def tell(self) -> None:
        """A line a room: lines that ran, of those that there are, and of those in reach."""
        for room, found in self.rooms().items():
            below = " below" if room in CORE and found.share_in_reach < GOAL else ""
            sys.stdout.write(
                f"{room:<16} {found.share:5.1f} % of {found.there} lines, "
                f"{found.share_in_reach:5.1f} % of {found.in_reach} in reach{below}\n"
            )
