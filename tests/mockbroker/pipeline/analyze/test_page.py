"""The page: key figures first, every section there or said to be empty, clients' names escaped."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from mockbroker.pipeline.analyze.page import Facts, heading_of, render
from mockbroker.pipeline.analyze.sections import SECTIONS
from tests.mockbroker.pipeline.analyze.test_plots import rows_of

if TYPE_CHECKING:
    from pathlib import Path

CHROMIUM = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
NAMES = {view.table for section in SECTIONS for view in section.views} | set(rows_of())


def figure(name: str, value: float | None, unit: str = "", side: str = "base") -> dict[str, Any]:
    return {"side": side, "place": 0, "figure": name, "value": value, "unit": unit}


def page(facts: Facts | None = None, /, **tables: list[dict[str, Any]]) -> str:
    empty: dict[str, list[dict[str, Any]]] = {name: [] for name in NAMES}
    given = {**empty, "key_figures": [figure("requests", 12_345.0)], **tables}
    text = render(given, facts or Facts(("j.jsonl",), lines=2, bytes=2_000))
    # The library is five megabytes of script: not what these tests read.
    return re.sub(r"<script>.*?</script>", "", text, count=1, flags=re.DOTALL)


def test_an_empty_analysis_says_so_in_every_section() -> None:
    text = page()
    for section in SECTIONS:
        assert f'<a href="#{section.id}">' in text
        assert section.empty.replace("'", "&#x27;") in text
    assert text.index("12,345") < text.index("Contents") < text.index('id="fetches"')


def test_nothing_is_loaded_from_elsewhere() -> None:
    assert re.findall(r'(?:src|href)="(?!#)[^"]*"', page(None, **rows_of())) == []


def test_a_clients_name_cannot_become_markup() -> None:
    evil = "</script><img src=x onerror=alert(1)>"
    rows = rows_of()
    rows["fetch_clients"][0]["client_id"] = evil
    text = page(None, **rows)
    assert "<img" not in text
    assert "&lt;img" in text


def test_a_long_table_tells_how_much_more_there_is() -> None:
    rows = [{"side": "base", "kind": f"k{n}", "lines": n} for n in range(40)]
    text = page(Facts(("j",), totals={"kinds": 5_040}), kinds=rows)
    assert "<td>k14</td>" in text
    # The rest of what is kept is there for the filters, and hidden without one.
    hidden = text.count('<tr data-row="more" hidden>')
    assert hidden == 40 - 15
    assert text.index("<td>k14</td>") < text.index('data-row="more"') < text.index("<td>k15</td>")
    assert "5,025 more in <code>tables/kinds</code>" in text


def test_corrupt_lines_are_told_at_the_top() -> None:
    text = page(Facts(("j",), corrupt=1_234))
    assert text.index("1,234 lines could not be read") < text.index("Key figures")


def test_what_stands_out_comes_before_all_figures() -> None:
    missing = {"side": "base", "missing": 7, "starts_s": 0.0, "lasted_s": 1.0}
    text = page(None, runs=[missing])
    assert text.index("7 lines are missing") < text.index("Key figures")
    assert "<li class=wrong>7 lines are missing" in text
    assert 'id="headlines"' not in page()


def test_a_card_has_the_other_side_beside_it() -> None:
    figures = [figure("fetches", 100.0), figure("fetches", 150.0, side="other")]
    assert "<b>100</b><i" in page(Facts(("a",), ("b",)), key_figures=figures)
    assert "<b>100</b><span>" in page(None, key_figures=figures[:1])


def test_two_runs_are_compared_figure_by_figure() -> None:
    figures = [
        figure("requests", 100.0), figure("requests", 150.0, side="other"),
        figure("share spared by sessions", 80.0, "%"),
        figure("share spared by sessions", 70.5, "%", "other"),
        figure("produce wait p99", None, "ms"),
    ]  # fmt: skip
    text = page(Facts(("a",), ("b",)), key_figures=figures)
    assert "+50 (+50.0 %)" in text
    assert "-9.50 points" in text
    assert "other − base" in text


@pytest.mark.parametrize(
    ("column", "heading"),
    [
        ("p50_ms", "p50, ms"), ("request_bytes", "request, B"), ("client_id", "client id"),
        ("up_to_percent", "up to, %"), ("lines", "lines"), ("started_s", "started, s"),
        ("request_bytes_in_full", "request in full, B"),
    ],
)  # fmt: skip
def test_units_come_last_in_headings(column: str, heading: str) -> None:
    assert heading_of(column) == heading


def test_filters_know_a_rows_client_topic_and_time() -> None:
    row = {"side": "base", "client_id": 'a"b', "topic": "orders", "at_s": 2.5}
    text = page(None, filtering=[row])
    assert '<tr data-row="" data-client="a&quot;b" data-topic="orders" data-at="2.5">' in text
    assert 'id="filters"' in text


def browsed(page: Path, query: str) -> str:
    """What a real browser has made of the page, without a network."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs Debian's package chromium")
    words = [*CHROMIUM, f"--user-data-dir={page.parent / 'profile'}"]
    done = subprocess.run(
        [
            chromium, *words, "--host-resolver-rules=MAP * 0", "--virtual-time-budget=20000",
            "--dump-dom", f"{page.as_uri()}?{query}",
        ],
        capture_output=True, text=True, timeout=110, check=True,
    )  # fmt: skip
    return done.stdout


def drawn_page(folder: Path) -> Path:
    """All plots, of one client that reads one topic."""
    empty: dict[str, list[dict[str, Any]]] = {name: [] for name in NAMES}
    rows = {**empty, **rows_of(), "key_figures": [figure("requests", 12_345.0)]}
    file = folder / "report.html"
    file.write_text(render(rows, Facts(("j.jsonl",))), "utf-8")
    return file


@pytest.mark.spark
@pytest.mark.timeout(240)
def test_a_browser_draws_every_plot_without_a_network(tmp_path: Path) -> None:
    told = browsed(drawn_page(tmp_path), "client=nobody")
    plots = sum(len(section.plots) for section in SECTIONS)
    assert len(re.findall(r'class="[^"]*svg-container', told)) == plots
    titles = re.findall(r'<h3 class="title">([^<]+)<', told)
    assert "Fetches by class" in titles
    assert len(titles) == plots
    # A filter leaves the rows that have no client, and hides those of others.
    shown = re.findall(r'<tr data-row="[a-z]*"( data-client="[^"]*")?[^>]*?(hidden="")?>', told)
    assert shown
    assert all(hidden for client, hidden in shown if client)


@pytest.mark.spark
@pytest.mark.timeout(400)
def test_filters_draw_the_plots_anew(tmp_path: Path) -> None:
    page = drawn_page(tmp_path)
    whole, mine, nobody = (browsed(page, f"client={name}") for name in ("", "c", "nobody"))
    bars = [re.findall(r'<g class="point"><path[^>]* d="([^"]*)"', text) for text in
            (whole, mine, nobody)]  # fmt: skip
    assert len(bars[0]) > len(bars[2])
    assert 'data-whole="not' not in whole
    assert 'data-whole="not by client"' in mine
    assert mine.count("not by client") == nobody.count("not by client")
    # Six fetches of the class, and four of them are this client's.
    ticks = [re.findall(r'class="ytick"><text[^>]*>([^<]+)<', text)[:9] for text in (whole, mine)]
    assert ticks[0] != ticks[1]
    other = browsed(page, "topic=elsewhere")
    assert 'data-whole="not by topic"' in other
