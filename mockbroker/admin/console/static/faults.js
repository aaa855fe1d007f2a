// Fault rules with their hits: armed, let go, taken away; presets and rules of one's own.

import { html, useState } from "./vendor/preact-htm.js";
import { allPages, readOnly, segment, send } from "./api.js";
import { useAction, useGet, usePolled } from "./hooks.js";
import { href } from "./router.js";
import { Act, Badge, Confirm, Empty, Field, Loading, Problem, Table } from "./parts.js";
import { number } from "./format.js";

const EXAMPLE = '{"api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "count": 1}';

export function Faults({ query }) {
  const found = usePolled((bill) => allPages("/v1/faults", "faults", bill), "faults");
  const [state, run] = useAction();
  const rows = found.value || [];
  const path = (id) => `/v1/faults/${segment(id)}`;
  return html`<div class="page">
    <h2>Fault rules</h2>
    <p class="actions"><a href=${href("requests", [], { fault: "true" })}>Requests that met a rule</a>
      ${rows.length > 0 && html`<${Confirm} question="Disarm all?" onConfirm=${() => run(() => send("DELETE", "/v1/faults"))}>Disarm all<//>`}
      <${Problem} problem=${state.problem} /></p>
    <${Loading} polled=${found}>
      ${rows.length === 0 ? html`<${Empty}>No rule is armed.<//>` : html`<${Table}
        label="Fault rules"
        rows=${rows}
        keyOf=${(one) => one.id}
        columns=${[
          ["Rule", (one) => html`${one.id === query.rule ? html`<${Badge} kind="warn">▶<//>` : null}<a href=${href("requests", [], { fault: one.id })}>${one.id}</a>`, "nowrap"],
          ["Says", (one) => html`<code>${inOneLine(one.rule)}</code>`],
          ["Hits", (one) => html`<b>${number(one.hits)}</b>${one.hits === 0 ? html` <${Badge} kind="warn">never fired<//>` : null}`],
          ["Fitted", (one) => number(one.matched), "num"],
          ["Holds back", (one) => number(one.waiting), "num"],
          ["State", (one) => html`${one.exhausted ? html`<${Badge}>used up<//>` : html`<${Badge} kind="good">in force<//>`}${one.problem ? html`<${Badge} kind="error">${one.problem}<//>` : null}`],
          ["Actions", (one) => html`<span class="actions">${one.waiting > 0 ? html`<${Act} onClick=${() => run(() => send("POST", `${path(one.id)}/release`))}>Let go<//>` : null}<${Act} kind="danger" onClick=${() => run(() => send("DELETE", path(one.id)))}>Disarm<//></span>`],
        ]}
      />`}
    <//>
    ${!readOnly && html`<${Add} />`}
  </div>`;
}

// JSON with spaces, at which a narrow column may break it.
function inOneLine(rule) {
  return JSON.stringify(rule, null, 1).replace(/\n\s*/gu, " ");
}

function Add() {
  const presets = useGet("/v1/fault-presets", 3600000);
  const [text, setText] = useState(EXAMPLE);
  const [preset, setPreset] = useState("");
  const [state, run] = useAction();
  const names = presets.value ? Object.entries(presets.value.presets) : [];
  const choose = (event) => {
    const name = event.currentTarget.value;
    setPreset(name);
    if (name) setText(JSON.stringify({ preset: name }));
  };
  const arm = (event) => {
    event.preventDefault();
    run(async () => {
      const given = JSON.parse(text);
      const rules = Array.isArray(given) ? given : given.rules || [given];
      return send("POST", "/v1/faults", { rules });
    });
  };
  const chosen = names.find(([name]) => name === preset);
  return html`<section><h3>Arm a rule</h3>
    <form class="form" onSubmit=${arm}>
      <${Field} label="Preset"><select value=${preset} onChange=${choose}><option value="">a rule of my own</option>${names.map(([name]) => html`<option key=${name} value=${name}>${name}</option>`)}</select><//>
      <${Field} label="Rule, as JSON" wide><textarea value=${text} onInput=${(event) => setText(event.currentTarget.value)}></textarea><//>
      <button type="submit" class="primary" disabled=${state.busy}>Arm</button>
    </form>
    ${chosen && html`<p class="quiet">${chosen[1]}</p>`}
    <${Problem} problem=${state.problem} />
    ${state.done && state.done.faults && html`<p class="done" role="status">Armed: ${state.done.faults.map((one) => one.id).join(", ")}</p>`}
  </section>`;
}
