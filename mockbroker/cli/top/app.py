"""The screen of `mockbroker top`: a head, a table of one view, keys. Textual draws it.

A thread asks the admin API, so that keys are taken while an answer is on its way; what it read is
handed to the loop of the screen, which alone touches what is drawn.
"""

from __future__ import annotations

from threading import Event
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Footer, Input, Static, Tab, Tabs

from mockbroker.admin.client import AdminApiError
from mockbroker.cli.errors import CommandError
from mockbroker.cli.tables import cell
from mockbroker.cli.top.rates import Rates, head, head_text
from mockbroker.cli.top.views import VIEWS, Filter, Row, parse_filter

if TYPE_CHECKING:
    from mockbroker.admin.client import AdminClient

_NO_FILTER: Final = Filter({}, ())


class Look(NamedTuple):
    """What one look found: the head, and the rows of the view at this place; or why it failed."""

    view: int
    head: str
    rows: list[Row]
    problem: str | None = None


class TopApp(App[None]):
    """Looks every `interval_s` seconds, and at once when a key asks for something else."""

    TITLE = "mockbroker top"
    ENABLE_COMMAND_PALETTE = False
    CSS = """
    #head { height: auto; padding: 0 1; }
    #problem { height: auto; padding: 0 1; color: $error; display: none; }
    #filter { display: none; }
    DataTable { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            Binding(str(place), f"view({place - 1})", view.name, show=False)
            for place, view in enumerate(VIEWS, 1)
        ),
        Binding("left", "step(-1)", "view before", show=False, priority=True),
        Binding("right", "step(1)", "next view", show=False, priority=True),
        Binding("p,space", "pause", "pause"),
        # Taken before the next key is looked at: what is typed behind it goes into the filter.
        Binding("slash", "ask_filter", "filter", priority=True),
        Binding("escape", "no_filter", "no filter"),
        Binding("q", "quit", "quit"),
    ]

    def __init__(
        self, client: AdminClient, *, interval_s: float, view: int, wanted: Filter
    ) -> None:
        super().__init__()
        self._client = client
        self._interval_s = interval_s
        self._views = [each(client) for each in VIEWS]
        self._view = view
        self._filter = wanted
        self._paused = False
        self._wake = Event()
        self._ended = Event()
        self._drawn = -1

    def compose(self) -> ComposeResult:
        """Head, tabs, table, keys."""
        yield Static(id="head", markup=False)
        yield Tabs(
            *(Tab(f"{place} {each.name}", id=each.name) for place, each in enumerate(VIEWS, 1)),
            active=VIEWS[self._view].name,
        )
        yield Input(placeholder="words, or api=Fetch client=billing*", id="filter")
        yield Static(id="problem", markup=False)
        yield DataTable(cursor_type="row", zebra_stripes=True)
        yield Footer()

    def on_mount(self) -> None:
        """Begin to look."""
        self.query_one(Tabs).can_focus = False
        self.query_one(DataTable).focus()
        self.run_worker(self._watch, thread=True, exit_on_error=True)

    def on_unmount(self) -> None:
        """Let the thread that looks end."""
        self._ended.set()
        self._wake.set()

    def _watch(self) -> None:
        rates = Rates()
        while not self._ended.is_set():
            self._wake.clear()
            if not self._paused:
                look = self._look(rates)
                if self._ended.is_set():
                    return
                self.call_from_thread(self._draw, look)
            self._wake.wait(self._interval_s)

    def _look(self, rates: Rates) -> Look:
        place = self._view
        try:
            told = head_text(head(self._client, rates))
            return Look(place, told, self._views[place].rows(self._filter))
        except (AdminApiError, CommandError) as error:
            return Look(place, "", [], str(error))

    def _draw(self, look: Look) -> None:
        if not self.query("#problem"):
            return  # the screen is not made yet, or gone
        problem = self.query_one("#problem", Static)
        problem.display = look.problem is not None
        if look.problem is not None:
            problem.update(look.problem)
            return
        if look.view != self._view:
            return  # somebody went on to another one meanwhile
        self.query_one("#head", Static).update(look.head)
        table = self.query_one(DataTable)
        row, scrolled = table.cursor_row, table.scroll_y
        if self._drawn == look.view:
            table.clear()
        else:
            table.clear(columns=True)
            table.add_columns(*(name.upper() for name in VIEWS[look.view].columns))
            self._drawn, row, scrolled = look.view, 0, 0
        for cells in look.rows:
            table.add_row(*(_text(value) for value in cells))
        table.move_cursor(row=min(row, max(0, len(look.rows) - 1)), scroll=False)
        table.scroll_to(y=scrolled, animate=False)

    def on_tabs_tab_activated(self, event: Tabs.TabActivated) -> None:
        """A click, or what `action_view` did."""
        names = [each.name for each in VIEWS]
        self._view = names.index(event.tab.id or "")
        self._wake.set()

    def check_action(
        self,
        action: str,
        parameters: tuple[object, ...],  # noqa: ARG002 -- Textual hands them over
    ) -> bool | None:
        """Arrows move within a filter that is being typed, and a slash is one more letter of it."""
        return action not in ("step", "ask_filter") or not isinstance(self.focused, Input)

    def action_view(self, place: int) -> None:
        """Show the view at this place."""
        self.query_one(Tabs).active = VIEWS[place].name

    def action_step(self, by: int) -> None:
        """Show the view beside this one."""
        self.action_view((self._view + by) % len(VIEWS))

    def action_pause(self) -> None:
        """Let what is shown stand still, or go on."""
        self._paused = not self._paused
        self.clear_notifications()  # a key that is held would fill the screen with them
        self.notify("paused: p goes on" if self._paused else "goes on", timeout=2)
        self._wake.set()

    def action_ask_filter(self) -> None:
        """Ask for what is wanted."""
        asked = self.query_one("#filter", Input)
        asked.display = True
        self.screen.set_focus(asked)  # now: `focus` lets the keys behind this one go elsewhere

    def action_no_filter(self) -> None:
        """Show all again."""
        asked = self.query_one("#filter", Input)
        asked.clear()
        asked.display = False
        self._want(_NO_FILTER)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take the filter; a bad one is told and changes nothing."""
        try:
            wanted = parse_filter(event.value)
        except CommandError as error:
            self.clear_notifications()
            self.notify(str(error), severity="error")
            return
        if not event.value:
            event.input.display = False
        self._want(wanted)

    def _want(self, wanted: Filter) -> None:
        self._filter = wanted
        self.query_one(DataTable).focus()
        self._wake.set()


def _text(value: object) -> Text:
    """Content is data: no markup, no control characters."""
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    return Text(cell(value), justify="right" if numeric else "left", no_wrap=True)
