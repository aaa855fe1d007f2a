// The timeline of requests: live, filtered, frozen, one of them opened, or a connection's ladder.

import { html, useState, useEffect, useMemo, useRef, useCallback } from "./vendor/preact-htm.js";
import { useAddress } from "./hooks.js";
import { alterQuery } from "./router.js";
import { FILTERS, errorName, journal, loadErrorNames, rowFilter } from "./journal.js";
import { Shown, placeFrom } from "./shown.js";
import { Windowed } from "./windowed.js";
import { Badge, Problem, memo } from "./parts.js";
import { Detail } from "./detail.js";
import { LadderRow, LADDER_HEIGHT } from "./ladder.js";
import { bytes, ms, number, plural, since } from "./format.js";
import { readOnly } from "./api.js";

const ROW_HEIGHT = 28;
const DRAW_MS = 100;

// What is shown of the store. A frozen picture ends at `end`, also under another filter.
function useRows(query, frozen) {
  const shown = useRef(null);
  if (shown.current === null) shown.current = new Shown(journal);
  const [, draw] = useState(0);
  const end = useRef(Infinity);
  if (!frozen) end.current = Infinity;
  else if (end.current === Infinity) end.current = shown.current.taken;
  const key = JSON.stringify([FILTERS.map((name) => query[name]), query.search, query.broker]);
  const test = useMemo(() => rowFilter(query), [key]);
  const wanted = useRef(null);
  wanted.current = () => shown.current.advance(key, test, end.current);
  const work = useRef(() => {});
  useEffect(() => {
    const timers = { draw: 0, look: 0 };
    const drawSoon = () => {
      timers.draw = timers.draw || setTimeout(() => {
        timers.draw = 0;
        draw((count) => count + 1);
      }, DRAW_MS);
    };
    const look = () => {
      timers.look = 0;
      if (wanted.current()) timers.look = setTimeout(look);
      drawSoon();
    };
    work.current = () => {
      timers.look = timers.look || setTimeout(look);
    };
    const over = journal.use(work.current);
    return () => {
      clearTimeout(timers.draw);
      clearTimeout(timers.look);
      over();
      shown.current.restart(null, null);
    };
  }, []);
  // The first slice at once: what fits is mostly among it, or the rest follows while one looks.
  const more = shown.current.key !== key && wanted.current();
  useEffect(() => {
    if (more) work.current();
  }, [key]);
  return shown.current;
}

export function Requests() {
  const { query } = useAddress();
  const [frozen, setFrozen] = useState(false);
  const [follow, setFollow] = useState(!query.select && !readOnly);
  const [named, setNamed] = useState(false);
  const shown = useRows(query, frozen);
  // No closure has the rows themselves: one that lives long would keep those that are let go.
  // What is drawn may be older than they are: its places are behind what went at the front since.
  const count = shown.rows.length;
  const { removed } = shown;
  const rowAt = (index) => shown.rows[index - (shown.removed - removed)];
  const ladder = query.as === "ladder";
  const chosen = Number(query.select) || 0;
  const at = chosen ? placeOf(shown.rows, chosen) : -1;
  const slowest = useMemo(() => slowestOf(shown.rows), [count >> 6, removed]);
  useEffect(() => {
    loadErrorNames().then(() => setNamed(true), () => {});
  }, []);
  useEffect(() => {
    if (query.select) setFollow(false);
  }, [query.select]);
  const select = useCallback((index) => alterQuery({ select: index >= 0 && rowAt(index) ? Math.floor(rowAt(index).number) : "" }), [removed]);
  const renderRow = (index, id) => {
    const row = rowAt(index);
    if (!row) return null;
    return html`<${ladder ? LadderRow : TimelineRow} key=${row.number} id=${id} index=${index} row=${row} gap=${row.gap} named=${named} before=${ladder && index ? rowAt(index - 1) : null} chosen=${index === at} slowest=${slowest} onSelect=${select} />`;
  };
  const opened = at >= 0 && shown.rows[at].gap === undefined ? shown.rows[at] : null;
  return html`<div class=${opened ? "requests with-detail" : "requests"}>
    <div class="requests-list">
      <${FilterBar} query=${query} />
      <${Bar} count=${count} frozen=${frozen} onFrozen=${setFrozen} follow=${follow} onFollow=${setFollow} ladder=${ladder} />
      ${count
        ? html`<${Windowed}
            key=${ladder ? "ladder" : "timeline"}
            label="Requests"
            count=${count}
            removed=${removed}
            rowHeight=${ladder ? LADDER_HEIGHT : ROW_HEIGHT}
            renderRow=${renderRow}
            head=${ladder ? html`<${LadderHead} />` : html`<${Head} />`}
            selected=${at}
            onSelect=${select}
            follow=${follow && !frozen}
            onFollow=${setFollow}
            idPrefix="request"
          />`
        : html`<p class="empty">${shown.more || !journal.asked ? "Looking …" : journal.cursor ? "No request fits these filters." : "No client has sent a request yet."}</p>`}
    </div>
    ${opened && html`<${Detail} key=${opened.number} row=${opened} onClose=${() => alterQuery({ select: "" })} />`}
  </div>`;
}

function Bar({ count, frozen, onFrozen, follow, onFollow, ladder }) {
  return html`<div class="bar">
    <span class="count" aria-live="off">${countText(count)}</span>
    <${Problem} problem=${journal.problem} />
    ${!readOnly &&
    html`<button type="button" aria-pressed=${frozen} onClick=${() => onFrozen(!frozen)} title="Stand still; requests are still noted">${frozen ? "Frozen" : "Freeze"}</button>
      <button type="button" aria-pressed=${follow} onClick=${() => onFollow(!follow)} title="Stay at the newest">Follow</button>
      <${Everything} />`}
    <button type="button" aria-pressed=${ladder} onClick=${() => alterQuery({ as: ladder ? "" : "ladder" })}>Ladder</button>
  </div>`;
}

function placeOf(rows, wanted) {
  const at = placeFrom(rows, wanted);
  return at < rows.length && rows[at].number === wanted ? at : -1;
}

function slowestOf(rows) {
  let slowest = 1;
  for (const row of rows.slice(-2000)) {
    if (row.gap === undefined) slowest = Math.max(slowest, row.completed_ms - row.arrived_ms);
  }
  return slowest;
}

function countText(count) {
  const all = journal.rows.length;
  return count === all ? plural(all, "request") : `${number(count)} of ${plural(all, "request")}`;
}

function Everything() {
  const [on, setOn] = useState(journal.everything);
  const turn = () => {
    journal.everything = !on;
    setOn(!on);
  };
  return html`<button type="button" aria-pressed=${on} onClick=${turn} title="Ask without rests: fewer gaps, and it costs the broker more">No gaps</button>`;
}

function FilterBar({ query }) {
  const names = { api: "API", client: "Client", topic: "Topic", group: "Group", transactional_id: "Transactional id", error: "Error", fault: "Fault", connection: "Connection" };
  const any = FILTERS.some((name) => query[name]) || query.search || query.broker;
  const change = (name) => (event) => alterQuery({ [name]: event.currentTarget.value.trim() });
  const hints = { api: "Fetch", client: "app-*", error: "true, false, a name", fault: "true, or an id" };
  return html`<form class="filters" role="search" onSubmit=${(event) => event.preventDefault()}>
    <label class="search"><span>Search</span><input type="search" value=${query.search || ""} onInput=${change("search")} placeholder="in all that a row shows" /></label>
    <details open=${FILTERS.some((name) => query[name])}>
      <summary>Filters</summary>
      <div class="filter-fields">
        ${FILTERS.map((name) => html`<label key=${name}><span>${names[name]}</span><input value=${query[name] || ""} onInput=${change(name)} placeholder=${hints[name] || ""} /></label>`)}
      </div>
    </details>
    ${any && html`<button type="button" onClick=${() => alterQuery({ ...Object.fromEntries(FILTERS.map((name) => [name, ""])), search: "", broker: "" })}>Clear</button>`}
  </form>`;
}

function Head() {
  return html`<div class="grid-row grid-head" role="row">
    ${[["c-time", "Time, s"], ["c-client", "Client"], ["c-api", "API"], ["c-about", "About"], ["c-size", "Asked"], ["c-size", "Told"], ["c-wait", "Waited"], ["c-error", "Outcome"]].map(
      ([kind, text], index) => html`<span role="columnheader" class=${kind} key=${index}>${text}</span>`,
    )}
  </div>`;
}

function LadderHead() {
  return html`<div class="grid-row grid-head ladder-head" role="row"><span role="columnheader" class="c-time">Time, s</span><span role="columnheader">Client → broker, and back</span></div>`;
}

// Of the rows in sight those are drawn again that are others.
const TimelineRow = memo(({ id, index, row, chosen, slowest, onSelect }) => {
  if (row.gap !== undefined) {
    return html`<div id=${id} role="row" aria-rowindex=${index + 2} class="grid-row gap-row"><span role="gridcell">${plural(row.gap, "request")} went by unseen</span></div>`;
  }
  const waited = row.completed_ms - row.arrived_ms;
  const kind = `grid-row${chosen ? " chosen" : ""}${row.errors.length ? " has-error" : ""}`;
  return html`<div id=${id} role="row" aria-rowindex=${index + 2} aria-selected=${chosen} class=${kind} onClick=${() => onSelect(index)}>
    <span role="gridcell" class="c-time">${since(row.arrived_ms)}</span>
    <span role="gridcell" class="c-client" title=${row.client_id}>${row.client_id}<small>#${row.connection}</small></span>
    <span role="gridcell" class="c-api">${row.api} <small>v${row.version}</small></span>
    <span role="gridcell" class="c-about" title=${row.about}>${row.about}</span>
    <span role="gridcell" class="c-size">${bytes(row.request_bytes)}</span>
    <span role="gridcell" class="c-size">${row.answered ? bytes(row.response_bytes) : "–"}</span>
    <span role="gridcell" class="c-wait"><${WaitBar} waited=${waited} slowest=${slowest} cause=${row.cause} /></span>
    <span role="gridcell" class="c-error">${outcome(row)}</span>
  </div>`;
});

export function WaitBar({ waited, slowest, cause }) {
  if (cause === "immediate" && waited <= 0) return html`<span class="quiet">at once</span>`;
  const share = Math.max(2, Math.min(100, (waited / slowest) * 100));
  return html`<span class="wait"><span class="wait-track"><span class=${`wait-bar by-${cause}`} style=${{ width: `${share}%` }}></span></span><span class="wait-text">${ms(waited)} ${cause}</span></span>`;
}

export function outcome(row) {
  return html`${row.fault && html`<${Badge} kind="fault">fault<//>`}${row.errors.map((code) => html`<${Badge} kind="error" key=${code}>${errorName(code)}<//>`)}${!row.answered && html`<${Badge} kind="warn">no answer<//>`}`;
}
