"""What the console takes of the browser, over minutes too, and of the broker that it looks at.

    scripts/bench/console [--rows N] [--rounds N]   each interaction at full size, under live load
    scripts/bench/console --minutes 10              the memory of the page meanwhile
    scripts/bench/console --cost [--rounds N]       the broker's processor time for its clients

Full size is 1,000 topics of 10 partitions, 100 groups, 100,000 rows. An interaction is a key, a
click or a turn of the wheel as a person makes it, in Debian's Chromium. `main thread` is the
processor time that the page took from it until the picture had changed, which a busy machine does
not alter much, `on the clock` what the browser itself measured from the key to the next paint
(Event Timing, in steps of 8 ms). Memory is counted behind a garbage collection. The cost is that of
rounds in pairs, with a page that looks on and without, of the same requests. Markdown on standard
output.
"""

from __future__ import annotations

import argparse
import math
import shutil
import statistics
import sys
from collections import defaultdict
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from tests.support.console_world import Load, world

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, CDPSession, Page

    from mockbroker.testing.remote.broker import RemoteBroker

VIEWS: Final = (
    "Requests", "Fetch", "Topics", "Groups", "Transactions", "Cluster", "Faults", "Clock",
    "Snapshots", "Config", "Compatibility",
)  # fmt: skip
SAMPLE_S: Final = 20.0
PACED_REQUESTS: Final = 20_000
ASKED: Final = 300
SETTLE_MS: Final = 2000
"""What who begins to look asks for at once is over."""
OBSERVE: Final = """
window.slow = [];
new PerformanceObserver(list => {
  for (const one of list.getEntries()) if (one.interactionId) window.slow.push(one.duration);
}).observe({type: "event", durationThreshold: 16, buffered: true});
"""
PAINTED: Final = """
new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))
"""


TEXT_OF_ROWS: Final = """
import("/console/journal.js").then(found => JSON.stringify(found.journal.rows).length)
"""


class Watched:
    """A page with what it takes: `samples` are ms of the main thread by kind of interaction."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.samples: dict[str, list[float]] = defaultdict(list)
        self.clock: dict[str, list[float]] = defaultdict(list)
        self.errors: list[str] = []
        self._cdp: CDPSession = page.context.new_cdp_session(page)
        self._cdp.send("Performance.enable", {"timeDomain": "threadTicks"})
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on(
            "console",
            lambda said: (
                self.errors.append(said.text) if said.type in ("error", "warning") else None
            ),
        )
        page.add_init_script(OBSERVE)

    def busy_ms(self) -> float:
        """Processor time of the main thread so far."""
        found = self._cdp.send("Performance.getMetrics")["metrics"]
        return float(next(one["value"] for one in found if one["name"] == "TaskDuration")) * 1000

    def heap(self) -> tuple[float, int]:
        """MB of JavaScript and elements of the document, behind a garbage collection."""
        for _ in range(2):
            self._cdp.send("HeapProfiler.collectGarbage")
        used = self._cdp.send("Runtime.getHeapUsage")["usedSize"] / 1e6
        return used, self._cdp.send("Memory.getDOMCounters")["nodes"]

    def do(self, kind: str, act: Callable[[], object]) -> None:
        """One interaction."""
        self.page.evaluate("() => { window.slow = []; }")
        self.page.evaluate(PAINTED)
        before = self.busy_ms()
        act()
        self.page.evaluate(PAINTED)
        self.samples[kind].append(self.busy_ms() - before)
        self.clock[kind].append(max(self.page.evaluate("window.slow"), default=0))


def interactions(watched: Watched) -> None:
    """What a person does, once through all views."""
    page, do = watched.page, watched.do
    keys = page.keyboard
    for name in VIEWS:
        do(f"open {name}", partial(page.click, f"nav.views >> text={name}"))
    page.click("nav.views >> text=Requests")
    page.wait_for_selector(".grid-row:not(.grid-head)")
    for label in ("Freeze", "Frozen", "Ladder", "Ladder", "Follow", "Follow"):
        do("freeze, follow, ladder", partial(page.click, f".bar >> text={label}"))
    page.focus("input[type=search]")
    for letter in "topic-0042":
        do("search in rows", partial(keys.press, letter))
    do("search in rows", lambda: page.click("text=Clear"))
    page.click("summary:has-text('Filters')")
    page.focus(".filter-fields input >> nth=1")
    for letter in "reader-*":
        do("filter rows", partial(keys.press, letter))
    do("filter rows", lambda: page.click("text=Clear"))
    page.focus("[role=grid]")
    for key in ("End", "ArrowUp", "ArrowUp", "PageUp", "PageUp", "Home", "ArrowDown", "End"):
        do("move and open by keys", partial(keys.press, key))
    page.wait_for_selector(".field-row")
    for n in range(5):
        do("point at a field", partial(page.hover, f".field-row >> nth={n}"))
    for label in ("Answer", "Journal line", "Request"):
        do("details", partial(page.click, f".tabs >> text={label}"))
    do("details", lambda: page.click("[aria-label=Close]"))
    page.hover("[role=grid]")
    for n in range(6):
        do("turn the wheel", partial(page.mouse.wheel, 0, 40_000 * (-1 if n < 4 else 1)))
    _lists(watched)


def _lists(watched: Watched) -> None:
    page, do = watched.page, watched.do
    for view, name, text in (("Topics", "topic-0042", "0042"), ("Groups", "group-042", "042")):
        page.click(f"nav.views >> text={view}")
        page.wait_for_selector("tbody tr")
        page.focus("input[type=search]")
        for letter in text:
            do("search in a list", partial(page.keyboard.press, letter))
        do("open one", partial(page.click, f"text={name} >> nth=0"))
        page.wait_for_selector(f"h2:has-text('{name}')")
    page.click("nav.views >> text=Topics")
    page.fill("input[type=search]", "topic-0001")
    page.click("text=topic-0001 >> nth=0")
    page.wait_for_selector("td.record-value")
    for label in ("Tail", "Tail"):
        do("tail records", partial(page.click, f"text={label}"))


def measure(page: Page, broker: RemoteBroker, load: Load, rows: int, rounds: int) -> Watched:
    """The interactions at so many rows."""
    watched = opened(page, broker)
    fill(page, load, rows)
    for _ in range(rounds):
        interactions(watched)
        page.click("nav.views >> text=Requests")
    return watched


def opened(page: Page, broker: RemoteBroker) -> Watched:
    watched = Watched(page)
    page.set_default_timeout(30_000)
    page.goto(f"{broker.admin_url}/#/requests")
    page.wait_for_selector(".count")
    return watched


def fill(page: Page, load: Load, rows: int) -> None:
    """Let clients hurry until the page has that many rows."""
    page.click("text=No gaps")
    load.hurry = True
    said = 0
    # Of 100,000 the page lets a hundredth go at a time.
    while (have := rows_of(page)) < rows * 0.99:
        if have >= said:
            print(f"{have} rows", file=sys.stderr)
            said = have + 20_000
        sleep(0.5)
    load.hurry = False
    page.click("text=No gaps")


def rows_of(page: Page) -> int:
    """How many rows the page has."""
    text = page.inner_text(".count").partition(" of ")[2] or page.inner_text(".count")
    digits = "".join(letter for letter in text if letter.isdigit())
    return int(digits or 0)


def table(watched: Watched) -> Iterator[str]:
    """Markdown."""
    yield "| interaction, ms | times | main thread: median | 95 % | most | on the clock: 95 % |"
    yield "|---|---|---|---|---|---|"
    everything = [one for some in watched.samples.values() for one in some]
    clocks = [one for some in watched.clock.values() for one in some]
    rows = [(kind, watched.samples[kind], watched.clock[kind]) for kind in watched.samples]
    for kind, taken, clock in (*rows, ("all", everything, clocks)):
        figures = (statistics.median(taken), at_95(taken), max(taken), at_95(clock))
        yield f"| {kind} | {len(taken)} | " + " | ".join(f"{one:.0f}" for one in figures) + " |"


def at_95(taken: list[float]) -> float:
    """The 95th percentile."""
    return sorted(taken)[max(0, -(-len(taken) * 95 // 100) - 1)]


def memory(
    page: Page, broker: RemoteBroker, load: Load, rows: int, minutes: float
) -> Iterator[str]:
    """The page's memory, and what it does meanwhile: all views in turn, rows as they come."""
    watched = opened(page, broker)
    fill(page, load, rows)
    page.click("text=No gaps")
    yield "| minute | JavaScript, MB | elements | rows | as JSON, MB |"
    yield "|---|---|---|---|---|"
    began = perf_counter()
    while True:
        passed = (perf_counter() - began) / 60
        used, nodes = watched.heap()
        text = page.evaluate(TEXT_OF_ROWS) / 1e6
        yield f"| {passed:.1f} | {used:.1f} | {nodes} | {rows_of(page)} | {text:.1f} |"
        if passed >= minutes:
            break
        for name in (*VIEWS[1:], VIEWS[0]):
            page.click(f"nav.views >> text={name}")
            sleep(SAMPLE_S / len(VIEWS) / 2)
        sleep(SAMPLE_S / 2)
    assert not watched.errors, watched.errors


def cost(page: Page, broker: RemoteBroker, load: Load, rounds: int) -> Iterator[str]:
    """Processor time of the broker for the same requests, with a page that looks on and without.

    A pair has both, every other one in turn first: what the machine does by and by falls on both.
    What the answers to the page tell, and what each costs beside that, is told as a share of all
    that the broker worked meanwhile, which no other process has a part in.
    """
    pid = broker_pid(broker)
    untold = untold_ms(broker, pid)
    print(f"an answer costs {untold:.2f} ms beside what it tells", file=sys.stderr)
    load.hurry = True
    told: list[float] = []
    page.on("response", lambda found: told.append(_told_ms(found.headers) + untold))
    told_ms = busy_ms = 0.0
    taken: dict[bool, list[float]] = {True: [], False: []}
    for n in range(rounds):
        for looks_on in (True, False) if n % 2 else (False, True):
            page.goto(f"{broker.admin_url}/#/requests" if looks_on else "about:blank")
            page.wait_for_timeout(SETTLE_MS)
            told.clear()
            began = _cpu_s(pid)
            taken[looks_on].append(cpu_of(page, pid, load))
            if looks_on:
                told_ms += sum(told)
                busy_ms += (_cpu_s(pid) - began) * 1000
            says = f"{'with' if looks_on else 'without'}: {taken[looks_on][-1] * 1e6:.1f} us"
            print(says, file=sys.stderr)
    more = sorted(
        (one / other - 1) * 100 for one, other in zip(taken[True], taken[False], strict=True)
    )
    low, high = median_within(more)
    heads = (
        "a request, us of processor time",
        "with a page",
        "without",
        "more, median",
        "95 % within",
    )
    yield f"| {' | '.join(heads)} |"
    yield "|---|---|---|---|---|"
    figures = " | ".join(f"{statistics.median(taken[one]) * 1e6:.1f}" for one in (True, False))
    middle = statistics.median(more)
    yield f"| {rounds} pairs | {figures} | {middle:.1f} % | {low:.1f} to {high:.1f} % |"
    yield f"\nAnswers to the page: {told_ms / busy_ms * 100:.1f} % of the broker's work."


def untold_ms(broker: RemoteBroker, pid: int) -> float:
    """What an answer costs the broker's process beside what it tells: to read, to write."""
    told, began = 0.0, _cpu_s(pid)
    connection = HTTPConnection(urlsplit(str(broker.admin_url)).netloc, timeout=60)
    for _ in range(ASKED):
        connection.request("GET", "/v1/journal/rows?since=1000000000&limit=1")
        with connection.getresponse() as answer:
            answer.read()
        told += _told_ms(dict(answer.headers.items()))
    connection.close()
    return ((_cpu_s(pid) - began) * 1000 - told) / ASKED


def _told_ms(headers: dict[str, str]) -> float:
    """What an answer of the admin API cost the broker, as it says."""
    found = {name.lower(): value for name, value in headers.items()}.get("server-timing", "")
    return float(found.partition("cpu;dur=")[2].partition(",")[0] or 0)


def median_within(ordered: list[float]) -> tuple[float, float]:
    """Where the median of what was sampled is, 95 of 100 times, whatever its distribution."""
    count = len(ordered)
    first = max(0, math.floor((count - 1.96 * math.sqrt(count)) / 2))
    return ordered[first], ordered[count - 1 - first]


def cpu_of(page: Page, pid: int, load: Load) -> float:
    """Seconds of the broker's process for each of the next requests."""
    began, answered = _cpu_s(pid), load.answered
    while load.answered < answered + PACED_REQUESTS:
        page.wait_for_timeout(50)
    return (_cpu_s(pid) - began) / (load.answered - answered)


def _cpu_s(pid: int) -> float:
    """To the nanosecond, of all its threads."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def broker_pid(broker: RemoteBroker) -> int:
    """The process that listens on the admin port."""
    children = Path("/proc/self/task").glob("*/children")
    found = [int(pid) for one in children for pid in one.read_text().split()]
    for pid in found:
        if b"mockbroker" in Path(f"/proc/{pid}/cmdline").read_bytes():
            return pid
    raise RuntimeError(f"no process of {broker.admin_url}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--minutes", type=float, help="the memory of the page over so long")
    parser.add_argument("--cost", action="store_true", help="what it costs the broker")
    given: Any = parser.parse_args()
    path = shutil.which("chromium")
    if path is None:
        sys.exit("needs Debian's package chromium")
    from playwright.sync_api import sync_playwright

    with world() as broker, Load(broker.bootstrap_servers) as load, sync_playwright() as driver:
        browser: Browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        if given.cost:
            lines = cost(page, broker, load, given.rounds)
        elif given.minutes is not None:
            lines = memory(page, broker, load, given.rows, given.minutes)
        else:
            watched = measure(page, broker, load, given.rows, given.rounds)
            lines = table(watched)
            for error in watched.errors:
                print(f"said by the page: {error}", file=sys.stderr)
        for line in lines:
            print(line, flush=True)
        browser.close()


if __name__ == "__main__":
    main()
