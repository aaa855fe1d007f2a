"""Plots: what is drawn of rows, with titles and units, and nothing of none."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker.journal import request
from mockbroker.pipeline.analyze import plots
from mockbroker.pipeline.analyze.sections import SECTIONS

ALL = [plot for section in SECTIONS for plot in section.plots]


def rows_of(side: str = "base") -> dict[str, list[dict[str, Any]]]:
    """A row or two for each table that is drawn."""
    wire = {"request_bytes": 10, "response_bytes": 30, "request_bytes_in_full": 100,
            "response_bytes_in_full": 60}  # fmt: skip
    of = {"side": side}
    return {
        "fetch_series": [{**of, "start_s": 4.0, "class": "FULL", "fetches": 6, **wire}],
        "fetch_series_clients": [
            {**of, "client_id": c, "start_s": 4.0, "class": "FULL", "fetches": n, **wire}
            for c, n in (("c", 4), ("d", 2))
        ],
        "wait_histogram_clients": [
            {**of, "client_id": "c", "cause": "data", "up_to_ms": 2.0, "requests": 3}
        ],
        "high_watermark_histogram_clients": [
            {**of, "client_id": "c", "reader": "consumer", "kip_1166": True, "up_to_ms": 1.0,
             "told": 5}
        ],
        "response_fill_clients": [
            {**of, "client_id": "c", "up_to_percent": 110, "fetches": 1}
        ],
        "fetch_clients": [{**of, "client_id": "c", "class": "FULL", **wire}],
        "session_series": [{**of, "start_s": 4.0, "event": "opened", "events": 2}],
        "wait_histogram": [{**of, "cause": "data", "up_to_ms": 2.0, "requests": 3}],
        "high_watermark_histogram": [
            {**of, "reader": "consumer", "kip_1166": True, "up_to_ms": 1.0, "told": 5},
            {**of, "reader": "follower", "kip_1166": True, "up_to_ms": 1.0, "told": 9},
        ],
        "response_fill": [{**of, "up_to_percent": 110, "fetches": 1}],
        "partition_service": [
            {**of, "client_id": "c", "topic": "t", "partition": 0, "starved": 2,
             "served_when_limited": 1}
        ],
        "rotation_series": [
            {**of, "client_id": "c", "topic": "t", "partition": n, "place": n + 1, "start_s": 4.0,
             "servings": 3, "passed_over": 2, "max_passed_over": n}
            for n in (0, 1)
        ],
        "turn_histogram": [{**of, "client_id": "c", "up_to": n, "turns": 4 - n} for n in (0, 1)],
        "rebalances": [
            {**of, "group": "g", "generation": 3, "started_s": 1.0, "ended_s": 1.5, "members": 2,
             "took_ms": 500.0}
        ],
        "transactions": [
            {**of, "transactional_id": "t1", "client_id": "c", "outcome": "commit",
             "started_s": 1.0, "took_ms": 4.0, "first_seq": 1}
        ],
        "waits": [{**of, "api": "Fetch", "cause": "immediate", "p50_ms": 0.1, "p99_ms": 2.0,
             "max_ms": 2.0}],
    }  # fmt: skip


def test_no_two_causes_have_one_color() -> None:
    causes = (
        request.DATA,
        request.DISCONNECT,
        request.ERROR,
        request.FAULT,
        request.HIGH_WATERMARK,
        request.IMMEDIATE,
        request.LAST_STABLE_OFFSET,
        request.PEER,
        request.SHUTDOWN,
        request.TIMEOUT,
    )
    assert len({plots.COLORS[cause] for cause in causes}) == len(causes)


@pytest.mark.parametrize("plot", ALL, ids=lambda plot: plot.__name__)
def test_nothing_is_drawn_of_no_rows(plot: Any) -> None:
    assert plot({name: [] for name in rows_of()}, 1.0) is None


@pytest.mark.parametrize("plot", ALL, ids=lambda plot: plot.__name__)
def test_plots_have_a_title_and_named_axes_and_both_runs(plot: Any) -> None:
    one, two = rows_of(), rows_of("other")
    figure = plot(one, 1.0)
    assert figure.layout.title.text
    assert figure.layout.xaxis.title.text
    assert figure.layout.yaxis.title.text
    both = plot({name: one[name] + two[name] for name in one}, 1.0)
    assert points(both) > points(figure)


def points(figure: Any) -> int:
    """Bars, points, and cells of a map."""
    return sum(len(trace.x) * len(trace.y or ()) for trace in figure.data)


def test_a_rate_is_a_count_over_the_steps_width() -> None:
    (trace,) = plots.fetch_classes(rows_of(), 2.0).data
    assert (trace.name, trace.x, trace.y) == ("FULL", (5.0,), (3.0,))


def test_bytes_are_drawn_beside_what_full_fetches_cost() -> None:
    found = {trace.name: trace.y for trace in plots.fetch_bytes(rows_of(), 2.0).data}
    assert found == {"on the wire": (20.0,), "as full fetches": (80.0,)}


def test_long_names_are_shortened_below_a_plot_and_whole_in_it() -> None:
    name = "consumer-spark-kafka-relation-415beb5a-executor-1"
    found = {"fetch_clients": [{**rows_of()["fetch_clients"][0], "client_id": name}]}
    figure = plots.client_bytes(found, 1.0)
    assert figure.data[0].x == figure.layout.xaxis.tickvals == (name,)
    assert figure.layout.xaxis.ticktext == ("consumer…15beb5a-executor-1",)
    assert plots.client_bytes(rows_of(), 1.0).layout.xaxis.ticktext == ("c",)


def test_a_map_of_turns_has_a_line_a_partition() -> None:
    (trace,) = plots.turns(rows_of(), 2.0).data
    assert (trace.x, trace.y) == ((5.0,), ("c  t-0", "c  t-1"))
    assert [list(line) for line in trace.z] == [[0], [1]]


def test_turns_are_shares_of_a_clients() -> None:
    (trace,) = plots.turn_histogram(rows_of(), 1.0).data
    assert (trace.x, trace.y) == (("0", "1"), (pytest.approx(400 / 7), pytest.approx(300 / 7)))


def test_plots_over_time_share_their_axis() -> None:
    rows = {**rows_of(), "runs": [{"starts_s": 2.0, "lasted_s": 10.0}]}
    drawn = (plots.fetch_classes, plots.fetch_bytes, plots.session_life, plots.turns,
             plots.rebalances, plots.transactions)  # fmt: skip
    assert {plot(rows, 1.0).layout.xaxis.range for plot in drawn} == {(0, 12.0)}


def test_what_was_answered_at_once_is_told_and_not_drawn() -> None:
    rows = rows_of()
    at_once = {"side": "base", "cause": "immediate", "up_to_ms": 0.0, "requests": 1_000}
    figure = plots.wait_histogram(
        {**rows, "wait_histogram": [*rows["wait_histogram"], at_once]}, 1.0
    )
    assert [trace.name for trace in figure.data] == ["data"]
    assert "(1,000 more were answered at once)" in figure.layout.title.text


def test_session_events_are_counted_a_step() -> None:
    figure = plots.session_life(rows_of(), 0.5)
    assert (figure.data[0].y, figure.layout.yaxis.title.text) == ((2.0,), "events in 500 ms")


def test_followers_are_no_consumers() -> None:
    (trace,) = plots.watermark_histogram(rows_of(), 1.0).data
    assert (trace.name, trace.y) == ("with KIP-1166", (5,))


def test_a_trace_knows_what_it_has_of_each_client() -> None:
    (trace,) = plots.fetch_classes(rows_of(), 2.0).data
    assert trace.meta == {"clients": {"c": [2.0], "d": [1.0]}}
    assert sum(y for (y,) in trace.meta["clients"].values()) == trace.y[0]


def test_a_point_knows_its_client_and_topic() -> None:
    figure = plots.rotation(rows_of(), 1.0)
    assert figure.layout.meta == {"by": ("client", "topic")}
    assert [trace.meta for trace in figure.data] == [
        {"points": [{"client": "c", "topic": "t"}]}
    ] * 2
