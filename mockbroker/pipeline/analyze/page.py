"""The page: bounded rows of all tables as one HTML file that needs nothing else to be read.

Called by `job`. What stands out and the key figures come first, then the sections of
`sections.SECTIONS`, each with what it answers, its plots and the first rows of its tables; a
section without data says so. Everything that a client may have named is escaped.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from datetime import datetime
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from mockbroker.pipeline.analyze.advice import advice
from mockbroker.pipeline.analyze.headlines import headlines
from mockbroker.pipeline.analyze.sections import SECTIONS, Section, View
from mockbroker.pipeline.summary import human_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Row = Mapping[str, Any]
    Tables = dict[str, list[dict[str, Any]]]

ROWS_SHOWN: Final = 15
ROWS_KEPT: Final = 300
"""So many rows of a table are in the page, for its filters to show."""
REFRESH_S: Final = 5
_STYLE: Final = files("mockbroker.pipeline.analyze") / "page.css"
_SCRIPT: Final = files("mockbroker.pipeline.analyze") / "page.js"
_FILTERS: Final = (
    '<form id="filters"><label>client <input name="client" size="14"></label>'
    '<label>topic <input name="topic" size="14"></label>'
    '<label>from, s <input name="from" type="number" min="0" step="any"></label>'
    '<label>to, s <input name="to" type="number" min="0" step="any"></label>'
    '<button type="reset">all</button><output></output></form>'
)
_TIMES: Final = ("started_s", "start_s", "at_s", "starts_s")
_UNITS: Final = {"ms": "ms", "s": "s", "bytes": "B", "percent": "%"}
_PLAIN: Final = frozenset(
    {"error", "generation", "version", "partition", "session", "connection", "broker", "finding"}
)
"""Numbers that name something: no commas in them. So do those that end in `seq`."""
_CARDS: Final = (
    "requests", "fetches", "share spared by sessions", "fetch bytes spared by sessions",
    "sessions evicted", "errors 70", "errors 71", "fetches woken in vain",
)  # fmt: skip
_PLOT: Final = {"displaylogo": False, "responsive": True, "displayModeBar": False}


@dataclass(frozen=True, slots=True)
class Facts:
    """What the page is about. `totals` are the rows of each table, of which it shows the first."""

    sources: Sequence[str] = ()
    others: Sequence[str] = ()
    lines: int = 0
    bytes: int = 0
    corrupt: int = 0
    bin_s: float = 1.0
    totals: Mapping[str, int] = field(default_factory=dict)
    follows: bool = False


def render(tables: Tables, facts: Facts, told: Tables | None = None) -> str:
    """The whole page of the first rows of `tables`; `told` are all rows of what headlines count."""
    from plotly.offline import get_plotlyjs

    compared = bool(facts.others)
    contents = "".join(f'<li><a href="#{s.id}">{html.escape(s.title)}</a></li>' for s in SECTIONS)
    body = "".join(_section(section, tables, facts, compared=compared) for section in SECTIONS)
    return "".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="refresh" content="{REFRESH_S}">' if facts.follows else "",
            f"<title>Journal analysis</title><style>{_STYLE.read_text('utf-8')}</style>",
            f"<script>{get_plotlyjs()}</script></head><body><header><h1>Journal analysis</h1>",
            _sources(facts),
            "</header>",
            _headlines(told or tables, compared=compared),
            _key_figures(tables["key_figures"], compared=compared),
            f"<nav><h2>Contents</h2><ol>{contents}</ol></nav>{_FILTERS}<main>{body}</main>",
            f"<script>{_SCRIPT.read_text('utf-8')}</script>",
            "</body></html>\n",
        )
    )


def _sources(facts: Facts) -> str:
    told = [_files("Journals", facts.sources)]
    if facts.others:
        told.append(_files("Compared with (other)", facts.others))
    read = f"{facts.lines:,} lines, {human_bytes(facts.bytes)}"
    corrupt = (
        f'<p class="warning">{facts.corrupt:,} lines could not be read; they are kept in'
        " <code>tables/corrupt</code> and counted nowhere else.</p>"
        if facts.corrupt
        else ""
    )
    return f"{''.join(told)}<p>{read}</p>{corrupt}"


def _files(title: str, files: Sequence[str]) -> str:
    first = html.escape(files[0]) if files else ""
    more = f" and {len(files) - 1:,} more" if len(files) > 1 else ""
    return f"<p>{title}: <code>{first}</code>{more}</p>"


def _headlines(tables: Tables, *, compared: bool) -> str:
    parts = []
    for side in ("base", "other") if compared else ("base",):
        items = "".join(
            f"<li{' class=wrong' if told.wrong else ''}>{html.escape(told.text)}"
            f' <a href="#{told.section}">see</a></li>'
            for told in headlines(tables, side)
        )
        name = f"<h3>{side}</h3>" if compared else ""
        if items:
            parts.append(f'<div>{name}<ul class="headlines">{items}</ul></div>')
    if not parts:
        return ""
    sides = " sides" if compared else ""
    return (
        f'<section id="headlines"><h2>What stands out</h2><div class="told{sides}">'
        f"{''.join(parts)}</div></section>"
    )


# -- key figures ---------------------------------------------------------------------------


def _key_figures(rows: Sequence[Row], *, compared: bool) -> str:
    base = {row["figure"]: row for row in rows if row["side"] == "base"}
    other = {row["figure"]: row for row in rows if row["side"] == "other"}
    cards = "".join(
        _card(base[name], other.get(name) if compared else None) for name in _CARDS if name in base
    )
    names = ("base", "other", "other − base") if compared else ("value",)
    numbers = "".join(f'<th class="number">{name}</th>' for name in names)
    heading = f"<tr><th>figure</th>{numbers}</tr>"
    lines = []
    for name, row in base.items():
        cells = [_value(row["value"], row["unit"])]
        if compared:
            beside = other.get(name, {}).get("value")
            cells += [_value(beside, row["unit"]), _change(row["value"], beside, row["unit"])]
        numbers = "".join(f'<td class="number">{cell}</td>' for cell in cells)
        lines.append(f"<tr><td>{html.escape(name)}</td>{numbers}</tr>")
    body = "".join(lines)
    table = f'<div class="wide"><table><thead>{heading}</thead><tbody>{body}</tbody></table></div>'
    title = "Key figures, base and other" if compared else "Key figures"
    return (
        f'<section id="key-figures"><h2>{title}</h2><div class="cards">{cards}</div>'
        f"<details><summary>All key figures</summary>{table}</details></section>"
    )


def _card(row: Row, beside: Row | None) -> str:
    shown = _value(row["value"], row["unit"], short=True)
    other = ""
    if beside is not None:
        value = _value(beside["value"], row["unit"], short=True)
        other = f'<i title="the other side">other {value}</i>'
    name = html.escape(row["figure"])
    return f'<div class="card"><b>{shown}</b>{other}<span>{name}</span></div>'


def _value(value: float | None, unit: str, *, short: bool = False) -> str:
    if value is None:
        return "–"
    if unit == "B":
        return human_bytes(int(value)) if short else f"{value:,.0f} B"
    shown = f"{value:,.0f}" if value == int(value) and unit != "%" else f"{value:,.2f}"
    return f"{shown} {unit}".strip()


def _change(base: float | None, other: float | None, unit: str) -> str:
    if base is None or other is None:
        return "–"
    difference = other - base
    if unit == "%":
        return f"{difference:+,.2f} points"
    shown = f"{difference:+,.0f}" if difference == int(difference) else f"{difference:+,.2f}"
    return f"{shown} ({100 * difference / base:+.1f} %)" if base else shown


# -- sections ------------------------------------------------------------------------------


def _section(section: Section, tables: Tables, facts: Facts, *, compared: bool) -> str:
    from plotly.io import to_html

    parts = [f'<section id="{section.id}"><h2>{html.escape(section.title)}</h2>']
    parts.append(f'<p class="answers">{html.escape(section.answers)}</p>')
    figures = [plot(tables, facts.bin_s) for plot in section.plots]
    views = [view for view in section.views if tables.get(view.table)]
    if not any(figures) and not views:
        parts.append(f'<p class="empty">{html.escape(section.empty)}</p>')
    for figure in figures:
        if figure is not None:
            # A title of the page's own wraps where it is narrow, and meets no legend.
            title = html.escape(figure.layout.title.text)
            figure.update_layout(title=None)
            drawn = to_html(figure, include_plotlyjs=False, full_html=False, config=_PLOT)
            parts.append(f'<h3 class="title">{title}</h3><div class="plot">{drawn}</div>')
    parts += [
        _view(view, tables[view.table], facts.totals.get(view.table, 0), compared=compared)
        for view in views
    ]
    if section.id == "diagnosis":
        parts += _advice(tables.get("diagnosis", []))
    return "".join([*parts, "</section>"])


def _advice(rows: Sequence[Row]) -> list[str]:
    """What the docs say about the rules that found something."""
    found = {row["rule"]: advice()[row["rule"]] for row in rows if row["rule"] in advice()}
    return [
        f'<details id="advice-{rule}" open><summary>{rule}: what it is, and what to do</summary>'
        f"{text}</details>"
        for rule, text in found.items()
    ]


def _view(view: View, rows: Sequence[Row], total: int, *, compared: bool) -> str:
    shown = rows[: view.rows or ROWS_SHOWN]
    kept = rows[: max(len(shown), ROWS_KEPT)]
    columns = [name for name in view.columns or rows[0] if name != "side" or compared]
    heading = "".join(_heading(name, shown) for name in columns)
    lines = "".join(
        f"{_row(row, more=number >= len(shown))}"
        f"{''.join(_cell(name, row.get(name)) for name in columns)}</tr>"
        for number, row in enumerate(kept)
    )
    left = max(total, len(rows)) - len(shown)
    more = f'<p class="more">{left:,} more in <code>tables/{view.table}</code></p>' if left else ""
    return (
        f"<h3>{html.escape(view.title)}</h3>"
        f'<div class="wide"><table><thead><tr>{heading}</tr></thead><tbody>{lines}</tbody>'
        f"</table></div>{more}"
    )


def _row(row: Row, *, more: bool) -> str:
    """The beginning of a row, with what filters ask for; one of `more` is hidden without any."""
    topic = row.get("topic", row.get("topics"))
    at = next((row[name] for name in _TIMES if row.get(name) is not None), None)
    # A sentence is asked whether it names the client, or the topic.
    told = row.get("detail") if "subject" in row else None
    asked = {"client": row.get("client_id", told), "topic": told if topic is None else topic}
    asked["at"] = at
    data = "".join(
        f' data-{name}="{html.escape(str(value))}"'
        for name, value in asked.items()
        if value is not None
    )
    return f'<tr data-row="{"more" if more else ""}"{data}{" hidden" if more else ""}>'


def _heading(name: str, rows: Sequence[Row]) -> str:
    numbers = any(isinstance(row.get(name), int | float) for row in rows)
    of_class = ' class="number"' if numbers else ""
    return f"<th{of_class}>{html.escape(heading_of(name))}</th>"


def heading_of(column: str) -> str:
    """A column's name for people, its unit after a comma: `p50_ms` is `p50, ms`."""
    words = column.split("_")
    unit = "bytes" if "bytes" in words else words[-1]
    if len(words) > 1 and unit in _UNITS:
        words.remove(unit)
        return f"{' '.join(words)}, {_UNITS[unit]}"
    return " ".join(words)


def _cell(name: str, value: object) -> str:
    if value is None:
        return '<td class="none">–</td>'
    if isinstance(value, bool):
        return f"<td>{'yes' if value else 'no'}</td>"
    if name in _PLAIN or name.endswith("seq"):
        return f'<td class="number">{value}</td>'
    if isinstance(value, int):
        return f'<td class="number">{value:,}</td>'
    if isinstance(value, float):
        return f'<td class="number">{value:,.{3 if abs(value) < 100 else 1}f}</td>'
    if isinstance(value, datetime):
        return f"<td>{value:%Y-%m-%d %H:%M:%S}</td>"
    rule = str(value).partition("#")[2]
    if name == "more" and rule in advice():
        return f'<td><a href="#advice-{rule}">{html.escape(str(value))}</a></td>'
    kind = ' class="line"' if name == "line" else ""
    return f"<td{kind}>{html.escape(str(value))}</td>"
