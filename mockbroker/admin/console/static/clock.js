// The broker's time: look at it, freeze it, advance it, jump, let it run faster.

import { html, useState } from "./vendor/preact-htm.js";
import { readOnly, send } from "./api.js";
import { useAction, useGet } from "./hooks.js";
import { Act, Badge, Facts, Field, Loading, Problem } from "./parts.js";
import { number, wallTime } from "./format.js";

const UNITS = { ms: 1, s: 1000, min: 60000, h: 3600000, d: 86400000 };

export function Clock() {
  const found = useGet("/v1/clock", 500);
  const [state, run] = useAction();
  const [amount, setAmount] = useState("1");
  const [unit, setUnit] = useState("min");
  const [rate, setRate] = useState("1");
  const by = Number(amount) * UNITS[unit];
  const clock = found.value;
  const call = (verb, body) => () => run(() => send("POST", `/v1/clock/${verb}`, body));
  return html`<div class="page">
    <h2>Clock</h2>
    <${Loading} polled=${found}>
      ${clock && html`
        <p>${clock.frozen ? html`<${Badge} kind="warn">it stands still<//>` : html`<${Badge} kind="good">it runs<//>`} ${clock.rate !== 1 && html`<${Badge} kind="warn">${clock.rate} times as fast<//>`}</p>
        <${Facts} of=${{ "Wall time (UTC)": wallTime(clock.wall_ms), "Since the start": `${number(Math.round(clock.now_ms))} ms`, Rate: clock.rate }} />
        ${!readOnly && html`
          <p class="actions">${clock.frozen ? html`<${Act} kind="primary" onClick=${call("unfreeze")}>Let it run<//>` : html`<${Act} onClick=${call("freeze")}>Freeze<//>`}</p>
          <div class="form">
            <${Field} label="By"><input type="number" value=${amount} onInput=${(event) => setAmount(event.currentTarget.value)} /><//>
            <${Field} label="Unit"><select value=${unit} onChange=${(event) => setUnit(event.currentTarget.value)}>${Object.keys(UNITS).map((name) => html`<option key=${name} value=${name} selected=${name === unit}>${name}</option>`)}</select><//>
            <${Act} kind="primary" onClick=${call("advance", { ms: by, wall: true })} disabled=${state.busy || !(by >= 0)}>Advance<//>
            <${Act} onClick=${call("jump", { ms: by })} disabled=${state.busy || Number.isNaN(by)}>Jump (wall time alone)<//>
          </div>
          <div class="form">
            <${Field} label="Rate"><input type="number" min="0.01" step="0.5" value=${rate} onInput=${(event) => setRate(event.currentTarget.value)} /><//>
            <${Act} onClick=${() => run(() => send("PUT", "/v1/clock/rate", { rate: Number(rate) }))} disabled=${state.busy}>Set<//>
          </div>
          <p class="quiet">Advance: all that is due on the way has run when it is done. Jump: records and retention see another time, no deadline comes nearer.</p>`}
      `}
    <//>
    <${Problem} problem=${state.problem} />
  </div>`;
}
