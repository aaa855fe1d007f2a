// One request: the journal's line, both messages field by field with the bytes beside them.

import { html, useMemo, useState } from "./vendor/preact-htm.js";
import { useGet, useRested } from "./hooks.js";
import { Badge, Copy, Facts, Loading, memo } from "./parts.js";
import { errorName, journal } from "./journal.js";
import { asCurl, asExpectation, asFault } from "./copy.js";
import { href } from "./router.js";
import { bytes, bytesOfBase64, hexOf, ms, number, since, textOfBytes } from "./format.js";
import { readOnly } from "./api.js";

const LINE_BYTES = 16;
const SHOWN_BYTES = 4096;
const SHOWN_FIELDS = 300;
const WHY = {
  immediate: "it never waited",
  data: "records were appended",
  high_watermark: "a high watermark moved",
  last_stable_offset: "a transaction ended",
  timeout: "its own time was over, or a timer of the broker",
  error: "the partition was lost",
  peer: "another request: a member joined, the leader synced",
  disconnect: "its client has gone",
  shutdown: "the broker stopped",
  fault: "a fault held it back until then",
};

export function Detail({ row, onClose }) {
  const rested = useRested(row.number);
  const [gone] = useState(() => row.number < journal.first);
  return html`<section class="detail" aria-label="Request">
    <header>
      <h2>${row.api} <small>v${row.version}</small> ${row.errors.map((code) => html`<${Badge} kind="error" key=${code}>${errorName(code)}<//>`)}</h2>
      <button type="button" onClick=${onClose} aria-label="Close">✕</button>
    </header>
    <div class="detail-body">
      <${Facts} of=${factsOf(row)} />
      <p class="actions">
        <a href=${href("requests", [], { connection: row.connection, broker: row.broker, as: "ladder", select: row.number })}>This connection as a ladder</a>
        ${row.groups[0] && html` <a href=${href("groups", [row.groups[0]])}>Group ${row.groups[0]}</a>`}
        ${row.topics.slice(0, 3).map((topic) => html` <a key=${topic} href=${href("topics", [topic])}>Topic ${topic}</a>`)}
        ${row.transactional_ids[0] && html` <a href=${href("transactions", [row.transactional_ids[0]])}>Transaction ${row.transactional_ids[0]}</a>`}
        ${row.fault && html` <a href=${href("faults", [], { rule: row.fault })}>Rule ${row.fault}</a>`}
      </p>
      <p class="actions">
        <${Copy} text=${() => asExpectation(row)}>Copy as Python expectation<//>
        <${Copy} text=${() => asFault(row)}>Copy as fault rule<//>
        ${!readOnly && html`<${Copy} text=${() => asCurl(row)}>Copy as curl<//>`}
      </p>
      ${gone ? html`<${LetGo} />` : rested && html`<${Messages} row=${row} />`}
    </div>
  </section>`;
}

function LetGo() {
  return html`<p class="empty">The broker has let go of this request: it keeps the last 2,048.</p>`;
}

function Messages({ row }) {
  const found = useGet(`/v1/journal/requests/${row.number}`, 86400000);
  const [shown, setShown] = useState("request");
  if (found.problem && found.problem.status === 404) return html`<${LetGo} />`;
  const names = { request: "Request", response: "Answer", line: "Journal line" };
  return html`<${Loading} polled=${found}>
    <div class="tabs" role="group" aria-label="What is shown">
      ${Object.entries(names).map(([name, text]) => html`<button type="button" key=${name} aria-pressed=${shown === name} onClick=${() => setShown(name)}>${text}</button>`)}
    </div>
    ${found.value && (shown === "line" ? html`<${Line} line=${found.value.line} />` : html`<${Message} key=${shown} message=${found.value[shown]} answered=${row.answered} kind=${shown} />`)}
  <//>`;
}

function factsOf(row) {
  const waited = row.completed_ms - row.arrived_ms;
  const facts = {
    Client: row.client_id || "–",
    Broker: `${row.broker}, connection ${row.connection}`,
    Arrived: `${since(row.arrived_ms)} s`,
    Waited: waited > 0 ? `${ms(waited)}: ${WHY[row.cause] || row.cause}` : WHY[row.cause] || row.cause,
    Sizes: `${bytes(row.request_bytes)} asked, ${row.answered ? `${bytes(row.response_bytes)} answered` : "no answer was sent"}`,
  };
  if (row.about) facts.About = row.about;
  if (row.fault) facts.Fault = row.fault;
  return facts;
}

function Line({ line }) {
  const text = JSON.stringify(line, null, 2);
  return html`<p class="actions"><${Copy} text=${text}>Copy<//></p><pre class="line" tabindex="0">${text}</pre>`;
}

function Message({ message, answered, kind }) {
  const [marked, setMarked] = useState(null);
  const [most, setMost] = useState(SHOWN_FIELDS);
  const data = useMemo(() => (message === null ? null : bytesOfBase64(message.data)), [message]);
  if (message === null) {
    return html`<p class="empty">${kind === "response" && !answered ? "No answer was sent." : "Its bytes were let go: of large ones the journal keeps the last 2 MiB."}</p>`;
  }
  const fields = message.fields.slice(0, most);
  return html`
    ${message.problem && html`<p class="problem">The fields end early: ${message.problem}</p>`}
    <div class="dissected">
      <div class="fields" role="list" aria-label=${`Fields of ${message.name}`} tabindex="0">
        <div class="message-name">${message.name}, ${bytes(message.size_bytes)}</div>
        ${fields.map((field, index) => html`<${FieldRow} key=${index} field=${field} marked=${marked === field} onMark=${setMarked} />`)}
        ${message.fields.length > most && html`<div role="listitem"><button type="button" onClick=${() => setMost(most * 4)}>Show more of ${number(message.fields.length - most)}</button></div>`}
        ${message.fields_left_out > 0 && html`<div class="quiet" role="listitem">${number(message.fields_left_out)} fields more</div>`}
      </div>
      <${Hex} data=${data} size=${message.size_bytes} marked=${marked} />
    </div>
  `;
}

// Of many rows those are drawn again whose mark comes or goes.
const FieldRow = memo(({ field, marked, onMark }) => {
  const mark = () => onMark(field);
  return html`<div role="listitem" class=${marked ? "field-row marked" : "field-row"} style=${{ paddingLeft: `${field.depth * 14 + 6}px` }} onMouseEnter=${mark}>
    <button type="button" class="plain" onFocus=${mark} onClick=${mark}>${field.name}</button>
    <span class="field-value">${valueOf(field)}</span>
    <span class="field-type">${field.type}</span>
  </div>`;
});

function valueOf(field) {
  if (field.type === "array" && field.value !== "null") return `${field.value} element${field.value === "1" ? "" : "s"}`;
  if (field.name.endsWith("error_code") && field.value !== "0") return `${field.value} ${errorName(Number(field.value))}`;
  return field.value;
}

function Hex({ data, size, marked }) {
  const start = marked === null ? -1 : marked.start;
  const end = marked === null ? -1 : marked.end;
  const [shownBytes, setShownBytes] = useState(SHOWN_BYTES);
  const far = marked !== null && marked.start >= shownBytes;
  const begin = far ? Math.floor(marked.start / LINE_BYTES) * LINE_BYTES : 0;
  const stop = Math.min(data.length, begin + shownBytes);
  const lines = [];
  for (let at = begin; at < stop; at += LINE_BYTES) {
    const to = Math.min(stop, at + LINE_BYTES);
    const marks = start < to && end > at;
    lines.push(html`<${HexLine} key=${at} data=${data} at=${at} to=${to} start=${marks ? start : -1} end=${marks ? end : -1} />`);
  }
  return html`<div class="hex" tabindex="0" role="region" aria-label="Bytes">
    ${lines}
    ${stop < data.length && html`<button type="button" onClick=${() => setShownBytes(shownBytes * 4)}>Show more</button>`}
    ${data.length < size && html`<p class="quiet">${bytes(size - data.length)} more are not shown.</p>`}
  </div>`;
}

const HexLine = memo(({ data, at, to, start, end }) => {
  const part = data.subarray(at, to);
  return html`<div class="hex-line">
    <span class="hex-at">${at.toString(16).padStart(4, "0")}</span>
    <${HexBytes} cells=${hexOf(part)} at=${at} start=${start} end=${end} gap=" " />
    <span class="hex-text"><${HexBytes} cells=${[...textOfBytes(part)]} at=${at} start=${start} end=${end} gap="" /></span>
  </div>`;
});

// Three pieces a line: before, marked, behind.
function HexBytes({ cells, at, start, end, gap }) {
  const from = Math.min(cells.length, Math.max(0, start - at));
  const to = Math.min(cells.length, Math.max(from, end - at));
  const piece = (some) => some.join(gap);
  const space = gap && to > from ? gap : "";
  if (start < 0 || to <= from) return html`<span class="hex-bytes">${piece(cells)}</span>`;
  return html`<span class="hex-bytes">${piece(cells.slice(0, from))}${from ? space : ""}<mark>${piece(cells.slice(from, to))}</mark>${to < cells.length ? space : ""}${piece(cells.slice(to))}</span>`;
}
