"""The fuzzer's target: bytes go to the core as a stranger's frames. Run by scripts/fuzz."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["mockbroker", "mockbroker_protocol"]):
    from tests.support.hostile import HostileRun, frame, seeds

    SEEDS = list(seeds())
    for _seed in SEEDS:  # handlers are imported at their first request: let that be now
        _run = HostileRun()
        _run.send(frame(_seed))
        _run.check()


def one_input(data: bytes) -> None:
    """Each input is one to three frames: split where a marker byte pair stands."""
    run = HostileRun()
    for part in data.split(b"\xf0\x0d", 2):
        if part:
            run.send(frame(part))
    run.check()


def main() -> None:
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(SEEDS):
            (Path(corpus) / str(number)).write_bytes(seed)
        atheris.Setup([*sys.argv, corpus], one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
