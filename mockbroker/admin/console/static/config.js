// What brokers are configured to, and where each value comes from.

import { html } from "./vendor/preact-htm.js";
import { pathOf } from "./api.js";
import { useGet } from "./hooks.js";
import { alterQuery } from "./router.js";
import { Badge, Empty, Field, Loading, Table } from "./parts.js";

export function Config({ query }) {
  const cluster = useGet("/v1/cluster", 5000);
  const found = useGet(pathOf("/v1/configs", { node_id: query.node }), 5000);
  const text = (query.search || "").toLowerCase();
  const set = query.set === "true";
  const brokers = cluster.value ? cluster.value.brokers.filter((one) => one.running) : [];
  const rows = (found.value ? found.value.configs : []).filter((one) => (one.name + (one.value || "")).toLowerCase().includes(text) && (!set || one.source !== "DEFAULT_CONFIG"));
  return html`<div class="page">
    <h2>Configs of broker ${found.value ? found.value.node_id : ""}</h2>
    <div class="form">
      <${Field} label="Broker"><select value=${query.node || ""} onChange=${(event) => alterQuery({ node: event.currentTarget.value })}><option value="">the first</option>${brokers.map((one) => html`<option key=${one.node_id} value=${one.node_id} selected=${String(one.node_id) === query.node}>${one.node_id}</option>`)}</select><//>
      <${Field} label="Search"><input type="search" value=${query.search || ""} onInput=${(event) => alterQuery({ search: event.currentTarget.value })} /><//>
      <button type="button" aria-pressed=${set} onClick=${() => alterQuery({ set: set ? "" : "true" })}>Only what was set</button>
    </div>
    <${Loading} polled=${found}>
      ${rows.length === 0 ? html`<${Empty}>There is no such config.<//>` : html`<${Table}
        label="Configs"
        rows=${rows}
        keyOf=${(one) => one.name}
        columns=${[
          ["Config", (one) => html`<code>${one.name}</code>`],
          ["Value", (one) => (one.sensitive ? html`<span class="quiet">hidden</span>` : one.value === null ? html`<span class="quiet">null</span>` : one.value)],
          ["From", (one) => html`<${Badge} kind=${one.source === "DEFAULT_CONFIG" ? "" : "good"}>${one.source}<//>`],
          ["Type", (one) => one.type],
          ["Changes while it runs", (one) => (one.read_only ? "no" : "yes")],
        ]}
      />`}
    <//>
  </div>`;
}
