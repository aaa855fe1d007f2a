"""`analyze --follow`: the page made anew whenever the journals have grown, until it is stopped.

Called by `command`. It looks at names and sizes of the files every second; what a broker is just
writing is read up to its last whole line. On Spark a round parses what is new (`line_stream`), on
the embedded engine all of the journals. The tables are always of all lines.
"""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from mockbroker.pipeline.analyze.journals import NO_LINE
from mockbroker.pipeline.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mockbroker.pipeline.summary import Summary

    Sizes = Mapping[str, int]

LOOK_SECONDS: Final = 1.0


def follow(
    analyze: Callable[[], Summary],
    sizes: Callable[[], Sizes],
    tell: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> Summary:
    """Analyze at each change until Ctrl-C or SIGTERM; the last round's summary.

    `sizes` finds the journals with their sizes, `tell` gets a line for each round.
    """
    summary: Summary | None = None
    seen: Sizes | None = None
    try:
        with _sigterm_is_ctrl_c():
            while True:
                now = sizes()
                if now != seen:
                    seen = now
                    try:
                        summary = analyze()
                    except PipelineError as error:
                        if summary is not None or str(error) != NO_LINE:
                            raise
                        tell("waiting for the first line")
                    else:
                        tell(f"{summary.rows:,} lines; {summary.notes[0]}; Ctrl-C ends it")
                sleep(LOOK_SECONDS)
    except KeyboardInterrupt:
        if summary is None:
            raise PipelineError("--follow: stopped before there was a line") from None
        return summary


@contextmanager
def _sigterm_is_ctrl_c() -> Iterator[None]:
    """While it is open; only the main thread can be told."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
