// Which APIs and versions the broker speaks, and which of them its clients use.

import { html } from "./vendor/preact-htm.js";
import { useGet } from "./hooks.js";
import { alterQuery, href } from "./router.js";
import { Badge, Empty, Field, Loading, Table } from "./parts.js";
import { number } from "./format.js";

export function Compatibility({ query }) {
  const found = useGet("/v1/protocol", 2000);
  const connections = useGet("/v1/connections", 5000);
  const text = (query.search || "").toLowerCase();
  const used = query.used === "true";
  const rows = (found.value ? found.value.apis : []).filter((one) => one.name.toLowerCase().includes(text) && (!used || one.requests > 0));
  const libraries = new Map();
  for (const one of connections.value ? connections.value.connections : []) {
    const name = one.software || "not told";
    libraries.set(name, (libraries.get(name) || 0) + 1);
  }
  return html`<div class="page">
    <h2>Compatibility</h2>
    <h3>Libraries that are connected</h3>
    <${Loading} polled=${connections}>
      ${libraries.size === 0 ? html`<${Empty}>No client is connected.<//>` : html`<p>${[...libraries].map(([name, count]) => html`<${Badge} key=${name}>${name}: ${count}<//>`)}</p>`}
    <//>
    <h3>APIs</h3>
    <div class="form">
      <${Field} label="Search"><input type="search" value=${query.search || ""} onInput=${(event) => alterQuery({ search: event.currentTarget.value })} /><//>
      <button type="button" aria-pressed=${used} onClick=${() => alterQuery({ used: used ? "" : "true" })}>Only what was asked</button>
    </div>
    <${Loading} polled=${found}>
      ${rows.length === 0 ? html`<${Empty}>There is no such API.<//>` : html`<${Table}
        label="APIs"
        rows=${rows}
        keyOf=${(one) => one.key}
        columns=${[
          ["Key", (one) => one.key, "num"],
          ["API", (one) => html`<a href=${href("requests", [], { api: one.name })}>${one.name}</a>`],
          ["Versions", (one) => `${one.min_version} to ${one.max_version}`, "nowrap"],
          ["Flexible from", (one) => (one.first_flexible === null ? "–" : one.first_flexible), "num"],
          ["Requests", (one) => number(one.requests), "num"],
        ]}
      />`}
    <//>
  </div>`;
}
