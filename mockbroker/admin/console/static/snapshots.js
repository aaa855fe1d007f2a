// Snapshots: take, compare with now or with another, restore, forget; and the reset.

import { html, useState } from "./vendor/preact-htm.js";
import { pathOf, readOnly, segment, send } from "./api.js";
import { useAction, useGet } from "./hooks.js";
import { alterQuery } from "./router.js";
import { Act, Confirm, Empty, Field, Loading, Problem, Table } from "./parts.js";

const pathTo = (name) => `/v1/snapshots/${segment(name)}`;

export function Snapshots({ query }) {
  const found = useGet("/v1/snapshots", 2000);
  const [state, run] = useAction();
  const [name, setName] = useState("");
  const list = found.value ? found.value.snapshots : [];
  const take = (event) => {
    event.preventDefault();
    run(() => send("PUT", pathTo(name)));
  };
  const restore = (one) => run(async () => {
    await send("POST", `${pathTo(one.name)}/restore`);
    return `Restored: ${one.name}`;
  });
  const forget = (one) => run(async () => {
    await send("DELETE", pathTo(one.name));
    if ([query.compare, query.with].includes(one.name)) alterQuery({ compare: "", with: "" });
  });
  return html`<div class="page">
    <h2>Snapshots</h2>
    ${!readOnly && html`<form class="form" onSubmit=${take}>
      <${Field} label="Name"><input value=${name} maxlength="200" onInput=${(event) => setName(event.currentTarget.value)} required /><//>
      <button type="submit" class="primary" disabled=${state.busy}>Take</button>
      <${Confirm} question="Back to how the broker started?" onConfirm=${() => run(() => send("POST", "/v1/reset"))}>Reset the broker<//>
    </form>`}
    <${Problem} problem=${state.problem} />
    ${typeof state.done === "string" && html`<p class="done" role="status">${state.done}</p>`}
    <${Loading} polled=${found}>
      ${list.length === 0 ? html`<${Empty}>None was taken.<//>` : html`<${Table}
        label="Snapshots"
        rows=${list}
        keyOf=${(one) => one.name}
        columns=${[
          ["Snapshot", (one) => one.name],
          ["Topics", (one) => one.topics.join(", ") || "none"],
          ["Actions", (one) => html`<span class="actions">
            <button type="button" aria-pressed=${query.compare === one.name} onClick=${() => alterQuery({ compare: one.name, with: "" })}>Compare</button>
            <${Confirm} question="Restore it? What is there now goes." onConfirm=${() => restore(one)}>Restore<//>
            <${Act} kind="danger" onClick=${() => forget(one)}>Forget<//></span>`],
        ]}
      />`}
      ${query.compare && list.some((one) => one.name === query.compare) && html`<${Compare} name=${query.compare} other=${query.with || ""} list=${list} />`}
    <//>
  </div>`;
}

function Compare({ name, other, list }) {
  const found = useGet(pathOf(`${pathTo(name)}/differences`, { other }), 5000);
  const rows = found.value ? found.value.differences : [];
  return html`<section>
    <h3>From ${name} to</h3>
    <${Field} label="What is compared"><select value=${other} onChange=${(event) => alterQuery({ with: event.currentTarget.value })}><option value="">now</option>${list.filter((one) => one.name !== name).map((one) => html`<option key=${one.name} value=${one.name} selected=${one.name === other}>${one.name}</option>`)}</select><//>
    <${Loading} polled=${found}>
      ${rows.length === 0 ? html`<${Empty}>Both are alike.<//>` : html`<${Table}
        label="Differences"
        rows=${rows}
        columns=${[
          ["Where", (one) => (one.topic === null ? "cluster" : one.partition === null ? one.topic : `${one.topic}-${one.partition}`)],
          ["What", (one) => one.what],
          ["Before", (one) => one.before],
          ["After", (one) => one.after],
        ]}
      />`}
    <//>
  </section>`;
}
