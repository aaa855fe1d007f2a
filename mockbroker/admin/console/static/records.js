// Records of a topic: browse, tail, search, decode, produce, and who wrote one.

import { html, useRef, useState } from "./vendor/preact-htm.js";
import { get, pathOf, readOnly, segment, send } from "./api.js";
import { useAction, usePolled } from "./hooks.js";
import { alterQuery, go, href } from "./router.js";
import { Empty, Field, Loading, Problem } from "./parts.js";
import { bytesOfBase64, hexOf, number, prettyJson, textOfBytes, wallTime } from "./format.js";

const PAGE = 100;
// What no text has in it: such a value is shown as bytes.
// oxlint-disable-next-line no-control-regex -- these are looked for
const CONTROL = /[\0-\x08\x0e-\x1f]/u;

export function Records({ name, partitions, query }) {
  const partition = Number(query.partition) || 0;
  const one = partitions[partition] || partitions[0];
  const tail = query.tail === "true";
  const start = useStart(query, partition, one);
  const base = `/v1/topics/${segment(name)}`;
  const as = query.as || "auto";
  const decode = as === "auto" || null;
  const searching = isSearch(query);
  const path = pathOf(`${base}/records`, { partition, offset: start, only: true, limit: PAGE, decode });
  const key = searching ? JSON.stringify([query.key, query.contains, query.since, decode]) : tail ? `tail ${partition}` : path;
  const found = usePolled((bill) => (searching ? searchAll(base, query, decode) : get(path, bill)), key, searching ? 3600000 : 1000);
  return html`<section>
    <h3>Records</h3>
    <${Asked} partition=${partition} partitions=${partitions} start=${start} tail=${tail} as=${as} query=${query} />
    <${Loading} polled=${found}>
      ${found.value && html`<p class="quiet">${searching ? foundText(found.value) : offsetsText(one, partition)}</p>
        <${RecordTable} name=${name} records=${found.value.records} as=${as} />`}
    <//>
    <${Produce} name=${name} partitions=${partitions.length} />
  </section>`;
}

function isSearch(query) {
  return Boolean(query.key || query.contains || query.since);
}

// Where browsing begins: where it was asked for; else at the newest that there were when one began to
// look. What is read stays in sight then, however much comes behind it, unless one tails.
function useStart(query, partition, one) {
  const [low, high] = [one.log_start_offset || 0, one.high_watermark || 0];
  const newest = Math.max(low, high - PAGE);
  const begun = useRef(null);
  const before = begun.current;
  if (before === null || before.partition !== partition || before.offset < low || before.offset > high) begun.current = { partition, offset: newest };
  if (query.tail === "true") return newest;
  return query.offset ? Number(query.offset) : begun.current.offset;
}

function Asked({ partition, partitions, start, tail, as, query }) {
  const set = (field) => (event) => alterQuery({ [field]: event.currentTarget.value });
  return html`<div class="form">
    <${Field} label="Partition"><select value=${partition} onChange=${set("partition")}>${partitions.map((each) => html`<option key=${each.partition} value=${each.partition} selected=${each.partition === partition}>${each.partition}</option>`)}</select><//>
    <${Field} label="From offset"><input type="number" min="0" value=${query.offset ?? ""} placeholder=${start} onChange=${set("offset")} disabled=${tail} /><//>
    ${!readOnly && html`<button type="button" aria-pressed=${tail} onClick=${() => alterQuery({ tail: tail ? "" : "true" })}>Tail</button>
      <${Field} label="Key is"><input value=${query.key || ""} onChange=${set("key")} /><//>
      <${Field} label="Contains"><input value=${query.contains || ""} onChange=${set("contains")} /><//>
      <${Field} label="Since (UTC)"><input type="datetime-local" step="1" value=${query.since || ""} onChange=${set("since")} /><//>`}
    <${Field} label="Show values as"><select value=${as} onChange=${set("as")}>${["auto", "json", "text", "hex"].map((kind) => html`<option key=${kind} value=${kind} selected=${kind === as}>${kind}</option>`)}</select><//>
  </div>`;
}

function foundText(found) {
  return `${number(found.records.length)} found in ${number(found.looked_at)} records of all partitions${found.more ? "; the search ended there" : ""}`;
}

function offsetsText(one, partition) {
  return `Offsets ${number(one.log_start_offset)} to ${number(one.log_end_offset)} of partition ${partition}, below the high watermark ${number(one.high_watermark)}`;
}

// From page to page, until enough are found or very many were looked at.
async function searchAll(base, query, decode) {
  const since = query.since ? Date.parse(`${query.since}Z`) : undefined;
  const whole = { records: [], looked_at: 0, more: false };
  let position = { partition: 0, offset: 0 };
  while (position.partition !== null) {
    const page = await get(pathOf(`${base}/search`, { key: query.key, contains: query.contains, since_ms: since, ...position, limit: PAGE, decode }));
    whole.records.push(...page.records);
    whole.looked_at += page.looked_at;
    position = { partition: page.next_partition, offset: page.next_offset };
    if (whole.records.length >= 500 || whole.looked_at >= 1000000) {
      whole.more = position.partition !== null;
      break;
    }
  }
  return whole;
}

function RecordTable({ name, records, as }) {
  if (!records.length) return html`<${Empty}>No record here.<//>`;
  return html`<div class="table-box" tabindex="0" role="region" aria-label="Records">
    <table>
      <thead><tr>${["Place", "Time", "Key", "Value", "Headers", "Written by"].map((text) => html`<th scope="col" key=${text}>${text}</th>`)}</tr></thead>
      <tbody>
        ${records.map((record) => html`<tr key=${`${record.partition}-${record.offset}`}>
          <td class="nowrap">${record.partition}-${record.offset}</td>
          <td class="nowrap">${wallTime(record.timestamp)}</td>
          <td class="mono"><${Content} value=${record.key} encoding=${record.key_encoding} decoded=${record.key_decoded} as=${as === "auto" ? as : "text"} /></td>
          <td class="mono record-value"><${Content} value=${record.value} encoding=${record.value_encoding} decoded=${record.value_decoded} as=${as} /></td>
          <td class="mono">${record.headers.map((header, index) => html`<div key=${index}>${header.name}: ${shownAs(header.value, header.value_encoding, "text")}</div>`)}</td>
          <td>${!readOnly && html`<${Writer} name=${name} record=${record} />`}</td>
        </tr>`)}
      </tbody>
    </table>
  </div>`;
}

// Decoded by the registry's schema where there is one, else as it was chosen.
function Content({ value, encoding, decoded, as }) {
  if (!decoded || as !== "auto") return shownAs(value, encoding, as);
  const what = [decoded.type, decoded.name, `schema ${decoded.schema_id}`].filter(Boolean).join(" ");
  if (decoded.text === null) return html`<small>${what}: ${decoded.problem}</small><div>${shownAs(value, encoding, "hex")}</div>`;
  return html`<small>${what}</small><div>${cut(prettyJson(decoded.text))}</div>`;
}

function shownAs(value, encoding, as) {
  if (value === null) return html`<span class="quiet">null</span>`;
  const binary = encoding === "base64" || (as === "auto" && CONTROL.test(value));
  if (as === "hex" || (binary && as !== "text")) {
    const data = encoding === "base64" ? bytesOfBase64(value) : new TextEncoder().encode(value);
    return hexOf(data.subarray(0, 2000)).join(" ");
  }
  if (encoding === "base64") return textOfBytes(bytesOfBase64(value).subarray(0, 4000));
  return cut(as === "json" || (as === "auto" && /^\s*[[{]/u.test(value)) ? prettyJson(value) : value);
}

function cut(text) {
  return text.length > 8000 ? `${text.slice(0, 8000)} … ${number(text.length - 8000)} letters more` : text;
}

function Writer({ name, record }) {
  const [state, run] = useAction();
  const find = () => run(async () => {
    const { number: found } = await get(pathOf("/v1/journal/writer", { topic: name, partition: record.partition, offset: record.offset }));
    if (found === null) return "none";
    go(href("requests", [], { select: found }));
    return "found";
  });
  return html`<button type="button" class="small" onClick=${find} disabled=${state.busy}>${state.done === "none" ? "not kept" : "Request"}</button>`;
}

function Produce({ name, partitions }) {
  const [record, setRecord] = useState({ key: "", value: "", partition: "", headers: "" });
  const [state, run] = useAction();
  if (readOnly) return null;
  const set = (field) => (event) => setRecord({ ...record, [field]: event.currentTarget.value });
  const put = (event) => {
    event.preventDefault();
    run(() => {
      const one = { value: record.value };
      if (record.key !== "") one.key = record.key;
      if (record.partition !== "") one.partition = Number(record.partition);
      if (record.headers.trim()) {
        one.headers = record.headers.trim().split("\n").map((line) => ({ name: line.split(":")[0].trim(), value: line.split(":").slice(1).join(":").trim() }));
      }
      return send("POST", `/v1/topics/${segment(name)}/records`, { records: [one] });
    });
  };
  return html`<details><summary>Produce a record</summary>
    <form class="form" onSubmit=${put}>
      <${Field} label="Key; empty: null"><input value=${record.key} onInput=${set("key")} /><//>
      <${Field} label="Partition; empty: by key"><input type="number" min="0" max=${partitions - 1} value=${record.partition} onInput=${set("partition")} /><//>
      <${Field} label="Headers, NAME: VALUE a line"><textarea value=${record.headers} onInput=${set("headers")}></textarea><//>
      <${Field} label="Value" wide><textarea value=${record.value} onInput=${set("value")}></textarea><//>
      <button type="submit" class="primary" disabled=${state.busy}>Produce</button>
      <${Problem} problem=${state.problem} />
      ${state.done && state.done.positions && html`<p class="done" role="status">Written at ${state.done.positions[0].partition}-${state.done.positions[0].offset}</p>`}
    </form>
  </details>`;
}
