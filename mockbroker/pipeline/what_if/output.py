"""Where the jobs of this folder leave what they found: Parquet tables and one HTML page.

Called by `command`. A table is a folder `tables/NAME` with one file, as the other jobs' are.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mockbroker.pipeline.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Points = Sequence[tuple[float, float]]
    Row = Mapping[str, Any]

PALETTE: Final = ("#c4572a", "#d9a441", "#2a7f9e", "#4fa36b", "#8a6fb0", "#b32d4a")
_STYLE: Final = files("mockbroker.pipeline.analyze") / "page.css"
_GRID: Final = "rgba(128,144,160,0.22)"
_PLOT: Final = {"displaylogo": False, "responsive": True, "displayModeBar": False}


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: what it answers, plots, and tables by their titles."""

    title: str
    answers: str
    plots: Sequence[Any] = ()
    tables: Mapping[str, Sequence[Row]] = field(default_factory=dict)


def check_folder(out: str, *, overwrite: bool) -> None:
    """Refuse a folder that is none, or has something in it."""
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise PipelineError(f"--out: {folder} is no folder")
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        raise PipelineError(f"--out: {folder} is not empty: --overwrite replaces an earlier run")


def write_tables(out: str, tables: Mapping[str, Sequence[Row]]) -> None:
    """Write each, if it has rows."""
    import pyarrow as pa
    from pyarrow import parquet

    for name, rows in tables.items():
        folder = Path(out) / "tables" / name
        folder.mkdir(parents=True, exist_ok=True)
        if rows:
            parquet.write_table(
                pa.Table.from_pylist([dict(row) for row in rows]), folder / "part-0.parquet"
            )


def write_page(out: str, title: str, facts: Sequence[str], sections: Sequence[Section]) -> str:
    """Write the page; where it is."""
    from plotly.offline import get_plotlyjs

    head = "".join(f"<p>{html.escape(fact)}</p>" for fact in facts)
    body = "".join(_section(section) for section in sections)
    page = Path(out) / "report.html"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE.read_text('utf-8')}</style>"
        f"<script>{get_plotlyjs()}</script></head><body><header><h1>{html.escape(title)}</h1>"
        f"{head}</header><main>{body}</main></body></html>\n",
        "utf-8",
    )
    return str(page)


def _section(section: Section) -> str:
    plots = "".join(map(_plot, section.plots))
    tables = "".join(html_table(title, rows) for title, rows in section.tables.items())
    return (
        f"<section><h2>{html.escape(section.title)}</h2>"
        f'<p class="answers">{html.escape(section.answers)}</p>{plots}{tables}</section>'
    )


def _plot(plot: Any) -> str:  # noqa: ANN401
    """With its title as text of the page, which may be dark."""
    title = html.escape(plot.layout.title.text)
    plot.update_layout(title={"text": ""})
    drawn = plot.to_html(full_html=False, include_plotlyjs=False, config=_PLOT)
    return f'<h3 class="title">{title}</h3><div class="plot">{drawn}</div>'


def html_table(title: str, rows: Sequence[Row]) -> str:
    """Rows as a table, a column for each field of the first."""
    if not rows:
        return f'<h3>{html.escape(title)}</h3><p class="empty">nothing</p>'
    names = list(rows[0])
    heading = "".join(f"<th>{html.escape(name.replace('_', ' '))}</th>" for name in names)
    lines = "".join(f"<tr>{''.join(_cell(row.get(name)) for name in names)}</tr>" for row in rows)
    return (
        f'<h3>{html.escape(title)}</h3><div class="wide"><table><thead><tr>{heading}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )


def _cell(value: object) -> str:
    if value is None:
        return '<td class="none">–</td>'
    if isinstance(value, int):
        return f'<td class="number">{value:,}</td>'
    if isinstance(value, float):
        return f'<td class="number">{value:,.3f}</td>'
    return f"<td>{html.escape(str(value))}</td>"


def lines(title: str, x: str, y: str, series: Mapping[str, Points]) -> Any:  # noqa: ANN401
    """A plot with a line for each series."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for place, (name, points) in enumerate(series.items()):
        figure.add_scatter(
            x=[point[0] for point in points],
            y=[point[1] for point in points],
            name=name,
            mode="lines+markers",
            # The later ones are thinner: where lines coincide all are seen.
            line={"color": PALETTE[place % len(PALETTE)], "width": max(1.5, 7 - 2 * place)},
        )
    _lay_out(figure, title, x, y)
    return figure


def bars(
    title: str,
    x: str,
    y: str,
    series: Mapping[str, Mapping[str, float]],
    colors: Mapping[str, str],
) -> Any:  # noqa: ANN401
    """A plot with groups of bars, one of each series."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for name, values in series.items():
        marker = {"color": colors[name]}
        figure.add_bar(x=list(values), y=list(values.values()), name=name, marker=marker)
    _lay_out(figure, title, x, y)
    figure.update_layout(xaxis={"type": "category"}, barmode="group")
    return figure


def _lay_out(figure: Any, title: str, x: str, y: str) -> None:  # noqa: ANN401
    axis = {"gridcolor": _GRID, "zeroline": False, "rangemode": "tozero"}
    figure.update_layout(
        title={"text": title},
        xaxis={"title": {"text": x}, **axis},
        yaxis={"title": {"text": y}, "automargin": True, **axis},
        font={"family": "system-ui, sans-serif", "size": 13, "color": "#22303c"},
        plot_bgcolor="rgba(0,0,0,0)",
        paper_bgcolor="rgba(0,0,0,0)",
        margin={"l": 60, "r": 12, "t": 34, "b": 52},
        height=340,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "xanchor": "left"},
        showlegend=True,
    )
