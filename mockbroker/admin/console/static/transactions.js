// Transactional ids: the state that each is in, and its steps in time.

import { html, useEffect } from "./vendor/preact-htm.js";
import { allPages, segment, send } from "./api.js";
import { useAction, useGet, usePolled } from "./hooks.js";
import { go, href } from "./router.js";
import { Badge, Confirm, Empty, Facts, Loading, Problem, Table } from "./parts.js";
import { errorName, loadErrorNames } from "./journal.js";
import { useLines } from "./lines.js";
import { ms, since, wallTime } from "./format.js";

const STATES = ["Empty", "Ongoing", "PrepareCommit", "CompleteCommit", "PrepareAbort", "CompleteAbort", "PrepareEpochFence", "Dead"];

export function Transactions({ rest }) {
  return rest.length ? html`<${Transaction} key=${rest[0]} id=${rest[0]} />` : html`<${TransactionList} />`;
}

function TransactionList() {
  const found = usePolled((bill) => allPages("/v1/transactions", "transactions", bill), "transactions", 1000);
  return html`<div class="page">
    <h2>Transactions</h2>
    <${Loading} polled=${found}>
      ${found.value && found.value.length === 0
        ? html`<${Empty}>No producer has a transactional id.<//>`
        : html`<${Table}
            label="Transactional ids"
            rows=${found.value || []}
            keyOf=${(one) => one.transactional_id}
            columns=${[
              ["Transactional id", (one) => html`<a href=${href("transactions", [one.transactional_id])}>${one.transactional_id}</a>`],
              ["State", (one) => html`<${Badge} kind=${one.state === "Ongoing" ? "warn" : ""}>${one.state}<//>`],
              ["Producer id", (one) => one.producer_id, "num"],
              ["Epoch", (one) => one.producer_epoch, "num"],
              ["Time-out", (one) => ms(one.timeout_ms), "num"],
              ["Began", (one) => wallTime(one.started_ms), "nowrap"],
              ["Partitions", (one) => one.partitions.map((each) => `${each.topic}-${each.partition}`).join(", ") || "–"],
            ]}
          />`}
    <//>
  </div>`;
}

function Transaction({ id }) {
  const path = `/v1/transactions/${segment(id)}`;
  const found = useGet(path);
  const lines = useLines({ transactional_id: id });
  const events = useGet("/v1/journal/events", 2000);
  const [state, run] = useAction();
  useEffect(() => {
    loadErrorNames().catch(() => {});
  }, []);
  const one = found.value;
  const forget = () => run(async () => {
    await send("DELETE", path);
    go(href("transactions"));
  });
  return html`<div class="page">
    <h2>${id}</h2>
    <p class="actions">
      <a href=${href("transactions")}>All transactions</a>
      <a href=${href("requests", [], { transactional_id: id })}>Its requests</a>
      <${Confirm} question="Abort what is open, and fence its producer?" onConfirm=${forget}>Abort and forget<//>
      <${Problem} problem=${state.problem} />
    </p>
    <${Loading} polled=${found}>
      ${one && html`
        <div class="states" role="list" aria-label="States">${STATES.map((name) => html`<span role="listitem" key=${name} class=${name === one.state ? "state now" : "state"} aria-current=${name === one.state ? "true" : null}>${name}</span>`)}</div>
        <${Facts} of=${{ "Producer id": one.producer_id, Epoch: one.producer_epoch, "Time-out": ms(one.timeout_ms), Began: wallTime(one.started_ms), Partitions: one.partitions.map((each) => `${each.topic}-${each.partition}`).join(", ") || "none" }} />
      `}
    <//>
    <h3>Steps</h3>
    <${Loading} polled=${lines}>
      ${lines.value && (lines.value.length === 0
        ? html`<${Empty}>The journal has no request of it: it keeps the last 2,048.<//>`
        : html`<ol class="steps">${lines.value.map((line, index) => html`<li key=${index} class=${line.errors.length ? "bad" : ""}><a class="at" href=${href("requests", [], { client: line.client_id, select: line.number })} title=${`Requests of ${line.client_id}`}>${since(line.completed_ms)} s</a>${stepText(line)}${line.errors.map((code) => html` <${Badge} kind="error" key=${code}>${errorName(code)}<//>`)}</li>`)}</ol>`)}
    <//>
    <h3>What the coordinator decided</h3>
    <${Loading} polled=${events}>
      ${events.value && html`<${Decisions} events=${events.value.events.filter((event) => event.kind === "transaction" && event.transactional_id === id)} />`}
    <//>
  </div>`;
}

function Decisions({ events }) {
  if (!events.length) return html`<${Empty}>Nothing yet.<//>`;
  return html`<ol class="steps">${events.map((event, index) => html`<li key=${index} class=${event.by === "client" ? "" : "bad"}>${decisionText(event)}</li>`)}</ol>`;
}

function stepText(line) {
  const about = line.topics.length ? ` ${line.topics.join(", ")}` : "";
  const outcome = line.txn && line.txn.outcome ? `: ${line.txn.outcome}` : "";
  const epoch = line.txn && line.txn.answered_producer_epoch >= 0 && line.txn.answered_producer_epoch !== null ? `, epoch ${line.txn.answered_producer_epoch}` : "";
  return `${line.api} of ${line.client_id}${about}${outcome}${epoch}`;
}

function decisionText(event) {
  const by = { client: "its client asked for it", timeout: "it was open for longer than its time-out", fenced: "another producer of this id began", removed: "its id was taken away" };
  return `The coordinator decided: ${event.outcome}, because ${by[event.by] || event.by}. It was open for ${ms(event.open_ms)}, in ${event.partitions} partition(s)`;
}
