"""Rows of tables as plots: each function takes rows and returns a Plotly figure, or None.

Called by `page`. None means that there is nothing to show: the page says so in words. A plot has a
title, and axes with units; of two compared runs each has its own traces.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import plotly.graph_objects as go

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Row = dict[str, Any]
    Rows = Sequence[Row]
    Tables = dict[str, list[Row]]

COLORS: Final = {
    "FULL": "#c4572a",
    "INCREMENTAL": "#2a7f9e",
    "SESSIONLESS": "#8a6fb0",
    "UNANSWERED": "#999999",
    "data": "#2a7f9e",
    "high_watermark": "#4fa36b",
    "last_stable_offset": "#a3a33f",
    "timeout": "#c4572a",
    "disconnect": "#d9a441",
    "shutdown": "#5c6470",
    "peer": "#7fb8cc",
    "immediate": "#8c9aa8",
    "error": "#b32d4a",
    "fault": "#8a6fb0",
    "with KIP-1166": "#2a7f9e",
    "without KIP-1166": "#c4572a",
    "on the wire": "#2a7f9e",
    "as full fetches": "#d9a441",
    "commit": "#4fa36b",
    "abort": "#c4572a",
    "left": "#8a6fb0",
    "fenced": "#b32d4a",
    "failed": "#b32d4a",
    "open": "#999999",
}
PALETTE: Final = ("#2a7f9e", "#c4572a", "#4fa36b", "#8a6fb0", "#d9a441", "#b32d4a", "#6b7c8c")
TOP: Final = 12
"""So many clients or partitions are drawn; the tables below have more."""
_HEIGHT: Final = 340
_LONGEST: Final = 27
_GRID: Final = "rgba(128,144,160,0.22)"


def _figure(title: str, x: str, y: str, **layout: object) -> Any:  # noqa: ANN401 -- untyped library
    figure = go.Figure()
    figure.update_layout(
        title={"text": title},
        xaxis={"title": {"text": x}, "gridcolor": _GRID, "zeroline": False},
        yaxis={
            "title": {"text": y},
            "gridcolor": _GRID,
            "zeroline": False,
            "rangemode": "tozero",
            "automargin": True,
        },
        font={"family": "system-ui, sans-serif", "size": 13, "color": "#22303c"},
        # What is behind the plot is the page's: it may be dark.
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        margin={"l": 60, "r": 12, "t": 34, "b": 52},
        height=_HEIGHT,
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "xanchor": "left"},
    )
    figure.update_layout(**layout)
    return figure


def _over_time(figure: Any, tables: Tables) -> Any:  # noqa: ANN401
    """Draw the whole time of the runs, so that plots stand above each other."""
    ends = [row["starts_s"] + (row["lasted_s"] or 0) for row in tables.get("runs", [])]
    if ends:
        figure.update_xaxes(range=[0, max(ends)])
    return figure


def _name_below(figure: Any, names: Sequence[str]) -> None:  # noqa: ANN401
    """Have an axis of these names, in so few characters that they leave the plot its height."""
    shown = [name if len(name) <= _LONGEST else f"{name[:8]}…{name[-18:]}" for name in names]
    figure.update_xaxes(type="category", tickvals=list(names), ticktext=shown)


def _color(name: str, number: int) -> str:
    return COLORS.get(name, PALETTE[number % len(PALETTE)])


def _named(row: Row, name: str, compared: bool) -> str:
    return f"{row['side']}: {name}" if compared else name


def _compared(rows: Rows) -> bool:
    return len({row["side"] for row in rows}) > 1


def _by(rows: Rows, name: Callable[[Row], str]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[name(row)].append(row)
    return dict(sorted(found.items()))


def _filtered(figure: Any, *by: str) -> Any:  # noqa: ANN401
    """Say which of the page's filters the figure's traces answer (page.js)."""
    figure.update_layout(meta={"by": by})
    return figure


def _of_clients(rows: Rows, at: str, steps: Sequence[float], value: str) -> dict[str, Any]:
    """What a trace has of each client, in its steps: page.js adds up those that are wanted."""
    counted: dict[str, dict[float, float]] = defaultdict(lambda: defaultdict(float))
    for row in rows:
        counted[row["client_id"]][row[at]] += row[value]
    return {"clients": {name: [of.get(step, 0) for step in steps] for name, of in counted.items()}}


def _points(rows: Rows) -> dict[str, Any]:
    """Whose the points of a trace are."""
    names = (("client", "client_id"), ("topic", "topic"))
    return {
        "points": [{name: row[column] for name, column in names if column in row} for row in rows]
    }


def _series(
    rows: Rows,
    of_clients: Rows,
    kind: str,
    value: str,
    title: str,
    y: str,
    bin_s: float,
) -> Any:  # noqa: ANN401 -- untyped library
    """Stacked columns over time, one trace for each value of `kind`; compared runs as lines."""
    if not rows:
        return None
    compared = _compared(rows)
    figure = _figure(title, "time since the first run began, s", y, barmode="stack", bargap=0)
    for number, (name, of_name) in enumerate(
        _by(rows, lambda row: _named(row, row[kind], compared)).items()
    ):
        x = [row["start_s"] + bin_s / 2 for row in of_name]
        values = [row[value] / bin_s for row in of_name]
        color = _color(of_name[0][kind], number)
        same = [
            {**row, value: row[value] / bin_s}
            for row in of_clients
            if _named(row, row[kind], compared) == name
        ]
        meta = _of_clients(same, "start_s", [row["start_s"] for row in of_name], value)
        if compared:
            dash = "dot" if of_name[0]["side"] == "other" else "solid"
            figure.add_scatter(
                x=x, y=values, name=name, mode="lines+markers",
                line={"color": color, "dash": dash}, marker={"size": 4}, meta=meta,
            )  # fmt: skip
        else:
            figure.add_bar(
                x=x, y=values, name=name, width=bin_s, marker={"color": color}, meta=meta
            )
    return figure


def fetch_classes(tables: Tables, bin_s: float) -> Any:  # noqa: ANN401
    rows = tables["fetch_series"]
    figure = _series(
        rows, tables["fetch_series_clients"], "class", "fetches", "Fetches by class",
        "fetches a second", bin_s,
    )  # fmt: skip
    return _over_time(_filtered(figure, "client"), tables) if figure else None


def fetch_bytes(tables: Tables, bin_s: float) -> Any:  # noqa: ANN401
    """Bytes on the wire over time, beside what full fetches would have cost."""
    rows = tables["fetch_series"]
    summed: dict[tuple[str, str, float], float] = defaultdict(float)
    for row in _in_bytes(rows, bin_s):
        for name in ("on the wire", "as full fetches"):
            summed[row["side"], name, row["start_s"]] += row[name]
    of_clients = _in_bytes(tables["fetch_series_clients"], bin_s)
    if not summed:
        return None
    compared = _compared(rows)
    figure = _figure(
        "Fetch bytes, requests and answers: with sessions, and the same as full fetches",
        "time since the first run began, s",
        "bytes a second",
    )
    for side, name in sorted({(side, name) for side, name, _ in summed}):
        points = sorted(
            (at, value) for (s, n, at), value in summed.items() if (s, n) == (side, name)
        )
        figure.add_scatter(
            x=[at + bin_s / 2 for at, _ in points],
            y=[value for _, value in points],
            name=f"{side}: {name}" if compared else name,
            mode="lines+markers",
            marker={"size": 4},
            line={"color": COLORS[name], "dash": "dot" if side == "other" else "solid"},
            meta=_of_clients(
                [row for row in of_clients if row["side"] == side],
                "start_s", [at for at, _ in points], name,
            ),
        )  # fmt: skip
    return _over_time(_filtered(figure, "client"), tables)


def _in_bytes(rows: Rows, bin_s: float) -> list[Row]:
    """Bytes a second of requests and answers together."""
    return [
        {
            **row,
            "on the wire": (row["request_bytes"] + row["response_bytes"]) / bin_s,
            "as full fetches": (row["request_bytes_in_full"] + row["response_bytes_in_full"])
            / bin_s,
        }
        for row in rows
    ]


def client_bytes(tables: Tables, _: float) -> Any:  # noqa: ANN401
    """Per client: what went over the wire and what full fetches would have cost, each direction."""
    rows = tables["fetch_clients"]
    parts = (
        ("requests on the wire", "request_bytes", "#2a7f9e"),
        ("requests as full fetches", "request_bytes_in_full", "#9cc9d9"),
        ("answers on the wire", "response_bytes", "#c4572a"),
        ("answers as full fetches", "response_bytes_in_full", "#eab79f"),
    )
    clients: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    ids: dict[str, Row] = {}
    compared = _compared(rows)
    for row in rows:
        ids[_named(row, row["client_id"], compared)] = {"client_id": row["client_id"]}
        for part in parts:
            column = part[1]
            clients[_named(row, row["client_id"], compared)][column] += row[column]
    if not clients:
        return None
    names = sorted(clients, key=lambda name: -sum(clients[name].values()))[:TOP]
    figure = _figure("Fetch bytes by client", "client", "bytes", barmode="group")
    _name_below(figure, names)
    figure.update_yaxes(type="log", rangemode="normal")
    for name, column, color in parts:
        figure.add_bar(
            x=names, y=[clients[c][column] or None for c in names], name=name,
            marker={"color": color}, meta=_points([ids[name] for name in names]),
        )  # fmt: skip
    return _filtered(figure, "client")


def session_life(tables: Tables, bin_s: float) -> Any:  # noqa: ANN401
    rows = [{**row, "events": row["events"] * bin_s} for row in tables["session_series"]]
    width = f"{bin_s * 1000:g} ms" if bin_s < 1 else f"{bin_s:g} s"
    figure = _series(rows, [], "event", "events", "Session events", f"events in {width}", bin_s)
    return _over_time(figure, tables) if figure else None


@dataclass(frozen=True, slots=True)
class _Words:
    """What a plot is called, and its axes."""

    title: str
    x: str
    y: str


def _histogram(
    rows: Rows, of_clients: Rows, name: Callable[[Row], str], value: str, words: _Words
) -> Any:  # noqa: ANN401
    if not rows:
        return None
    compared = _compared(rows)
    mode = "group" if compared else "stack"
    figure = _figure(words.title, words.x, words.y, barmode=mode)
    steps = sorted({row["up_to_ms"] for row in rows})
    labels = {step: "0" if step == 0 else f"≤ {step:g}" for step in steps}
    figure.update_xaxes(
        type="category", categoryorder="array", categoryarray=[labels[s] for s in steps]
    )
    for number, (label, of_label) in enumerate(
        _by(rows, lambda row: _named(row, name(row), compared)).items()
    ):
        counts: dict[float, int] = defaultdict(int)
        for row in of_label:
            counts[row["up_to_ms"]] += row[value]
        pattern = "/" if of_label[0]["side"] == "other" else ""
        same = [row for row in of_clients if _named(row, name(row), compared) == label]
        figure.add_bar(
            x=[labels[step] for step in steps],
            y=[counts.get(step, 0) for step in steps],
            name=label,
            marker={"color": _color(name(of_label[0]), number), "pattern": {"shape": pattern}},
            meta=_of_clients(same, "up_to_ms", steps, value),
        )
    return _filtered(figure, "client")


def wait_histogram(tables: Tables, _: float) -> Any:  # noqa: ANN401
    """Fetches that waited; they would not be seen beside those that were answered at once."""
    rows = [row for row in tables["wait_histogram"] if row["cause"] != "immediate"]
    left = sum(row["requests"] for row in tables["wait_histogram"]) - sum(
        row["requests"] for row in rows
    )
    title = f"How long fetches waited, by what ended the wait ({left:,} more were answered at once)"
    return _histogram(
        rows, tables["wait_histogram_clients"], lambda row: row["cause"] or "unknown", "requests",
        _Words(title, "wait, ms", "fetches"),
    )  # fmt: skip


def watermark_histogram(tables: Tables, _: float) -> Any:  # noqa: ANN401
    rows, of_clients = (
        [row for row in tables[name] if row["reader"] == "consumer"]
        for name in ("high_watermark_histogram", "high_watermark_histogram_clients")
    )
    return _histogram(
        rows,
        of_clients,
        lambda row: "with KIP-1166" if row["kip_1166"] else "without KIP-1166",
        "told",
        _Words(
            "How long until a consumer was told of a high watermark",
            "delay from the move to the answer that tells it, ms",
            "watermarks told",
        ),
    )


def response_fill(tables: Tables, _: float) -> Any:  # noqa: ANN401
    rows, of_clients = tables["response_fill"], tables["response_fill_clients"]
    if not rows:
        return None
    compared = _compared(rows)
    figure = _figure(
        "Records in answers against max_bytes", "share of max_bytes, %", "answers with records"
    )
    steps = [*range(10, 101, 10), 110]
    names = {step: "beyond" if step == 110 else f"≤ {step}" for step in steps}
    figure.update_xaxes(
        type="category", categoryorder="array", categoryarray=[names[step] for step in steps]
    )
    for number, (label, of_label) in enumerate(
        _by(rows, lambda row: _named(row, "answers", compared)).items()
    ):
        counts = {row["up_to_percent"]: row["fetches"] for row in of_label}
        same = [row for row in of_clients if row["side"] == of_label[0]["side"]]
        figure.add_bar(
            x=[names[step] for step in steps],
            y=[counts.get(step, 0) for step in steps],
            name=label,
            marker={"color": PALETTE[number]},
            meta=_of_clients(same, "up_to_percent", steps, "fetches"),
        )
    return _filtered(figure, "client")


def rotation(tables: Tables, _: float) -> Any:  # noqa: ANN401
    """Partitions that were starved most, with how often they were served in the same answers."""
    starved = [row for row in tables["partition_service"] if row["starved"]]
    if not starved:
        return None
    compared = _compared(starved)
    sides = _by(starved, lambda row: row["side"]).values()
    rows = [row for of_side in sides for row in of_side[: TOP // len(sides)]]
    names = [
        _named(row, f"{row['client_id']} {row['topic']}-{row['partition']}", compared)
        for row in rows
    ]
    figure = _figure(
        "Partitions in limited answers: served or starved", "client, partition", "answers",
        barmode="group",
    )  # fmt: skip
    _name_below(figure, names)
    for name, column, color in (
        ("served", "served_when_limited", "#2a7f9e"),
        ("starved", "starved", "#c4572a"),
    ):
        figure.add_bar(
            x=names, y=[row[column] for row in rows], name=name, marker={"color": color},
            meta=_points(rows),
        )  # fmt: skip
    return _filtered(figure, "client", "topic")


def turns(tables: Tables, bin_s: float) -> Any:  # noqa: ANN401
    """Each partition's worst turn in each step of time: an even rotation is of one colour."""
    rows = tables["rotation_series"]
    if not any(row["max_passed_over"] for row in rows):
        return None
    compared = _compared(rows)
    places: dict[str, dict[float, Row]] = {}
    whose: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: (row["place"], row["side"])):
        name = f"{row['client_id']}  {row['topic']}-{row['partition']}"
        places.setdefault(_named(row, name, compared), {})[row["start_s"]] = row
        whose.setdefault(_named(row, name, compared), row)
    steps = sorted({row["start_s"] for row in rows})
    cells = [[of.get(step) for step in steps] for of in places.values()]
    figure = _figure(
        "Turns of the partitions that were passed over most: fetches until they were served",
        "time since the first run began, s", "client and partition", showlegend=False,
        height=190 + 20 * len(places),
    )  # fmt: skip
    figure.update_yaxes(type="category", autorange="reversed", rangemode="normal", showgrid=False)
    figure.add_heatmap(
        x=[step + bin_s / 2 for step in steps],
        y=list(places),
        z=[[None if row is None else row["max_passed_over"] for row in line] for line in cells],
        customdata=[[0 if row is None else row["servings"] for row in line] for line in cells],
        colorscale=[[0, "#d7e9ef"], [0.5, "#d9a441"], [1, "#b32d4a"]],
        zmin=0,
        colorbar={"title": {"text": "passed over", "side": "right"}, "thickness": 14},
        hovertemplate="%{y}<br>%{x:.1f} s: served %{customdata} times,"
        " passed over by at most %{z} fetches<extra></extra>",
        hoverongaps=False,
        meta=_points(list(whose.values())),
    )
    return _over_time(_filtered(figure, "client", "topic"), tables)


def turn_histogram(tables: Tables, _: float) -> Any:  # noqa: ANN401
    """How many fetches passed a partition over before it was served, of each client."""
    rows = tables["turn_histogram"]
    if not any(row["up_to"] for row in rows):
        return None
    compared = _compared(rows)
    totals: dict[str, int] = defaultdict(int)
    for row in rows:
        totals[_named(row, row["client_id"], compared)] += row["turns"]
    shown = sorted(totals, key=lambda name: -totals[name])[:TOP]
    figure = _figure(
        "Fetches that passed a partition over, though it had data, before it was served",
        "fetches", "turns, %", barmode="group",
    )  # fmt: skip
    steps = sorted({row["up_to"] for row in rows})
    labels = {step: f"{step}" if step < 3 else f"≤ {step}" for step in steps}
    figure.update_xaxes(
        type="category", categoryorder="array", categoryarray=[labels[s] for s in steps]
    )
    for number, (name, of_name) in enumerate(
        _by(rows, lambda row: _named(row, row["client_id"], compared)).items()
    ):
        if name in shown:
            counts = {row["up_to"]: row["turns"] for row in of_name}
            figure.add_bar(
                x=[labels[step] for step in steps],
                y=[100 * counts.get(step, 0) / totals[name] for step in steps],
                name=name,
                marker={"color": PALETTE[number % len(PALETTE)]},
                meta=_points(of_name[:1] * len(steps)),
            )
    return _filtered(figure, "client")


def rebalances(tables: Tables, _: float) -> Any:  # noqa: ANN401
    """A line a group, a bar a rebalance, as long as it took."""
    rows = tables["rebalances"]
    if not rows:
        return None
    compared = _compared(rows)
    groups = list(dict.fromkeys(_named(row, row["group"], compared) for row in rows))[:TOP]
    shown = [row for row in rows if _named(row, row["group"], compared) in groups]
    figure = _figure(
        "Rebalances", "time since the first run began, s", "group", showlegend=False,
        height=min(_HEIGHT, 160 + 40 * len(groups)),
    )  # fmt: skip
    figure.update_yaxes(type="category", rangemode="normal")
    names = [_named(row, row["group"], compared) for row in shown]
    figure.add_bar(
        orientation="h",
        y=names,
        base=[row["started_s"] for row in shown],
        x=[max(row["ended_s"] - row["started_s"], 0) for row in shown],
        text=[str(row["generation"]) for row in shown],
        marker={"color": "#2a7f9e", "line": {"color": "#12506b", "width": 1.5}},
        hovertext=[
            f"generation {row['generation']}: {row['members']} members, {row['took_ms']:.1f} ms"
            for row in shown
        ],
        hoverinfo="text+y",
    )
    return _over_time(figure, tables)


def transactions(tables: Tables, _: float) -> Any:  # noqa: ANN401
    rows = tables["transactions"]
    if not rows:
        return None
    compared = _compared(rows)
    figure = _figure(
        "Transactions: when they began and how long they took",
        "time since the first run began, s",
        "first request to last, ms",
    )
    for number, (name, of_name) in enumerate(
        _by(rows, lambda row: _named(row, row["outcome"], compared)).items()
    ):
        figure.add_scatter(
            x=[row["started_s"] for row in of_name],
            y=[row["took_ms"] for row in of_name],
            text=[f"{row['transactional_id']} (seq {row['first_seq']})" for row in of_name],
            name=name,
            mode="markers",
            marker={
                "color": _color(of_name[0]["outcome"], number),
                "size": 7,
                "opacity": 0.7,
                "symbol": "diamond-open" if of_name[0]["side"] == "other" else "circle",
            },
            meta=_points(of_name),
        )
    return _over_time(_filtered(figure, "client"), tables)


def api_waits(tables: Tables, _: float) -> Any:  # noqa: ANN401
    """Requests that nothing held back, by API; a broker whose clock stood still took no time."""
    rows = [row for row in tables["waits"] if row["cause"] == "immediate" and row["max_ms"]]
    if not rows:
        return None
    compared = _compared(rows)
    figure = _figure(
        "Requests that did not wait: time in the broker", "API", "time, ms", barmode="group"
    )
    figure.update_xaxes(type="category")
    for side, of_side in _by(rows, lambda row: row["side"]).items():
        listed = of_side[:TOP]
        for number, (name, column) in enumerate((("p50", "p50_ms"), ("p99", "p99_ms"))):
            figure.add_bar(
                x=[row["api"] for row in listed],
                y=[row[column] for row in listed],
                name=f"{side}: {name}" if compared else name,
                marker={
                    "color": PALETTE[number],
                    "pattern": {"shape": "/" if side == "other" else ""},
                },
            )
    return figure
