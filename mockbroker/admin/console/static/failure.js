// Why a test failed, which is what its report opens with: what the test said, the requests beside it
// that went wrong or waited, who waits still, and what of the broker is out of the ordinary.

import { html, useMemo, useState } from "./vendor/preact-htm.js";
import { get, reportFacts, segment } from "./api.js";
import { usePolled } from "./hooks.js";
import { href } from "./router.js";
import { loadErrorNames } from "./journal.js";
import { Empty, Loading, Table } from "./parts.js";
import { Waits } from "./fetch.js";
import { WaitBar, outcome } from "./requests.js";
import { ms, number, plural } from "./format.js";

const SAID_LINES = 16;
const MOST_REQUESTS = 30;
// Idle fetches wait for half a second by default, and a group's first members for others.
const LONG_MS = 1000;
// How the first JoinGroup of every member is answered (KIP-394).
const MEMBER_ID_REQUIRED = 79;
const MOST_ODD = 12;
const TOPICS_LOOKED_AT = 100;

export function Failure() {
  const facts = reportFacts();
  return html`<div class="page failure">
    <h2 class="test-name">${facts.test}</h2>
    <pre class="said" tabindex="0" role="region" aria-label="What the test said">${saidIn(facts.failure)}</pre>
    <${Odd} />
    <${StandOut} />
    <${Waits} clients />
    <h2>The failure in full</h2>
    <pre tabindex="0" role="region" aria-label="The failure in full">${facts.failure}</pre>
    ${(facts.sections || []).map(({ title, text }, index) => html`<section key=${index}><h2>${title}</h2><pre tabindex="0" role="region" aria-label=${title}>${text}</pre></section>`)}
  </div>`;
}

// The last lines that pytest marks with E; in another style of tracebacks the last line.
export function saidIn(failure) {
  const lines = failure.trimEnd().split("\n");
  const isSaid = (line) => /^E( |$)/u.test(line);
  let end = lines.length;
  while (end > 0 && !isSaid(lines[end - 1])) end -= 1;
  if (end === 0) return lines[lines.length - 1];
  let start = end;
  while (start > 0 && isSaid(lines[start - 1])) start -= 1;
  const marked = lines.slice(start, end).map((line) => line.slice(1));
  const indent = Math.min(...marked.filter((line) => line.trim()).map((line) => line.search(/\S/u)));
  const said = marked.map((line) => line.slice(indent));
  if (said.length <= SAID_LINES) return said.join("\n");
  return [...said.slice(0, SAID_LINES), `… ${plural(said.length - SAID_LINES, "line")} more below`].join("\n");
}

function standsOut(row) {
  const waited = row.completed_ms - row.arrived_ms;
  return row.fault !== null || waited >= LONG_MS || row.errors.some((code) => code !== MEMBER_ID_REQUIRED);
}

// What a client asked again and again, with the same outcome, is one line: the last of it, how often,
// and the first. The nearest to the end comes first.
function folded(rows) {
  const found = new Map();
  for (const row of rows) {
    const long = row.completed_ms - row.arrived_ms >= LONG_MS;
    const key = JSON.stringify([row.client_id, row.broker, row.connection, row.api, row.about, row.errors, row.fault, long]);
    const before = found.get(key) || { times: 0, first: row };
    found.set(key, { row, times: before.times + 1, first: before.first });
  }
  return [...found.values()].sort((one, other) => other.row.completed_ms - one.row.completed_ms);
}

function StandOut() {
  const found = usePolled(async () => {
    const [page, clock] = await Promise.all([get("/v1/journal/rows"), get("/v1/clock"), loadErrorNames()]);
    return { rows: page.rows, now: clock.now_ms };
  }, "stand out");
  const { rows, now } = found.value || { rows: [], now: 0 };
  const nearest = useMemo(() => folded(rows.filter(standsOut)), [found.value]);
  const shown = nearest.slice(0, MOST_REQUESTS);
  const slowest = Math.max(LONG_MS, ...shown.map(({ row }) => row.completed_ms - row.arrived_ms));
  const before = (row) => ms(Math.max(0, now - row.completed_ms));
  return html`<section>
    <h2>Requests that went wrong or waited, the nearest to the failure first</h2>
    <${Loading} polled=${found}>
      ${shown.length === 0
        ? html`<${Empty}>Of ${plural(rows.length, "request")} none was answered with an error, met a fault rule, or waited for a second. <a href=${href("requests")}>All requests</a><//>`
        : html`<${Table}
            label="Requests that went wrong or waited"
            rows=${shown}
            keyOf=${({ row }) => row.number}
            columns=${[
              ["Before the end", ({ row, first }) => (row === first ? before(row) : `${before(row)} – ${before(first)}`), "num"],
              ["Times", (one) => number(one.times), "num"],
              ["Client", ({ row }) => `${row.client_id}#${row.connection}`],
              ["API", ({ row }) => html`<a href=${href("requests", [], { select: row.number })}>${row.api} <small>v${row.version}</small></a>`, "nowrap"],
              ["About", ({ row }) => row.about],
              ["Waited", ({ row }) => html`<${WaitBar} waited=${row.completed_ms - row.arrived_ms} slowest=${slowest} cause=${row.cause} />`, "waited"],
              ["Outcome", ({ row }) => outcome(row)],
            ]}
          />`}
      ${nearest.length > shown.length && html`<p class="quiet">${plural(nearest.length - shown.length, "line")} more, from before. <a href=${href("requests", [], { error: "true" })}>All with errors</a></p>`}
    <//>
  </section>`;
}

// What is not as it is in a broker that rests, each with the way to where it is told in full.
function Odd() {
  const found = usePolled(oddities, "odd");
  const [all, setAll] = useState(false);
  const list = found.value || [];
  const shown = all ? list : list.slice(0, MOST_ODD);
  return html`<section>
    <h2>What the broker held then</h2>
    <${Loading} polled=${found}>
      ${list.length === 0
        ? html`<${Empty}>Nothing that is out of the ordinary: no group is behind, no transaction open, no broker down.<//>`
        : html`<ul class="odd">${shown.map(([where, text], index) => html`<li key=${index}><a href=${where}>${text}</a></li>`)}</ul>`}
      ${list.length > shown.length && html`<button type="button" onClick=${() => setAll(true)}>Show ${list.length - shown.length} more</button>`}
    <//>
  </section>`;
}

async function oddities() {
  const paths = ["/v1/groups", "/v1/transactions", "/v1/faults", "/v1/cluster", "/v1/links", "/v1/clock"];
  const [groups, transactions, faults, cluster, links, clock] = await Promise.all(paths.map((path) => get(path)));
  return [
    ...groups.groups.filter((one) => one.lag > 0 || !RESTS.has(one.state)).map(groupText),
    ...transactions.transactions.filter((one) => one.state === "Ongoing" || one.state.startsWith("Prepare")).map(transactionText),
    ...faults.faults.map(faultText),
    ...cluster.brokers.filter((one) => !one.running || one.fenced).map(brokerText),
    ...(links.links.length ? [[href("cluster"), `${plural(links.links.length, "link")} between brokers cut, held or slow`]] : []),
    ...(clock.frozen ? [[href("clock"), "The clock stands still"]] : []),
    ...(clock.rate === 1 ? [] : [[href("clock"), `The clock runs ${clock.rate} times as fast`]]),
    ...(await partitionTexts()),
  ];
}

const RESTS = new Set(["Stable", "Empty"]);

function groupText(one) {
  const behind = one.lag > 0 ? `, ${plural(one.lag, "record")} behind` : "";
  return [href("groups", [one.group_id]), `Group ${one.group_id}: ${one.state}, ${plural(one.members, "member")}${behind}`];
}

function transactionText(one) {
  return [href("transactions", [one.transactional_id]), `Transaction of ${one.transactional_id}: ${one.state}`];
}

function faultText(one) {
  const hits = one.hits ? `fired ${number(one.hits)} time${one.hits === 1 ? "" : "s"}` : "never fired";
  const held = one.waiting ? `, holds ${plural(one.waiting, "request")} back` : "";
  return [href("faults", [], { rule: one.id }), `Fault rule ${one.id} ${hits}${held}`];
}

function brokerText(one) {
  return [href("cluster"), `Broker ${one.node_id} is ${one.running ? "fenced" : "down"}`];
}

async function partitionTexts() {
  const { topics } = await get("/v1/topics");
  const told = [];
  for (const { name } of topics.slice(0, TOPICS_LOOKED_AT)) {
    const list = await partitionsOf(name);
    const leaderless = list.filter((one) => one.leader < 0).length;
    const behind = list.filter((one) => one.leader >= 0 && one.isr.length < one.replicas.length).length;
    if (leaderless) told.push([href("topics", [name]), `Topic ${name}: ${plural(leaderless, "partition")} without a leader`]);
    if (behind) told.push([href("topics", [name]), `Topic ${name}: ${plural(behind, "partition")} with replicas that are not in sync`]);
  }
  return told;
}

// None of a topic that went while the report was made.
async function partitionsOf(name) {
  try {
    return (await get(`/v1/topics/${segment(name)}`)).partition_list;
  } catch {
    return [];
  }
}
