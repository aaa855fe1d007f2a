// Requests as a ladder: what a client sent, what came back, and how long the broker held it.

import { html } from "./vendor/preact-htm.js";
import { errorName } from "./journal.js";
import { memo } from "./parts.js";
import { bytes, ms, plural, since } from "./format.js";

export const LADDER_HEIGHT = 64;

export const LadderRow = memo(({ id, index, row, before, chosen, onSelect }) => {
  if (row.gap !== undefined) {
    return html`<div id=${id} role="row" aria-rowindex=${index + 2} class="ladder-row gap-row"><span role="gridcell">${plural(row.gap, "request")} went by unseen</span></div>`;
  }
  const waited = row.completed_ms - row.arrived_ms;
  const pause = before && before.gap === undefined ? row.arrived_ms - before.completed_ms : 0;
  const failed = row.errors.length > 0;
  const answer = !row.answered ? "no answer" : failed ? row.errors.map(errorName).join(", ") : `ok, ${bytes(row.response_bytes)}`;
  return html`<div id=${id} role="row" aria-rowindex=${index + 2} aria-selected=${chosen} class=${`ladder-row${chosen ? " chosen" : ""}`} onClick=${() => onSelect(index)}>
    <span role="gridcell" class="c-time">${since(row.arrived_ms)}<small>${pause > 0 ? ` after ${ms(pause)}` : ""}</small></span>
    <span role="gridcell" class="rungs">
      <span class="rung out"><span class="rung-text">${row.client_id}#${row.connection}: ${row.api} v${row.version} ${row.about}</span></span>
      <span class=${`held by-${row.cause}`}>${waited > 0 ? `held ${ms(waited)}: ${row.cause}` : ""}</span>
      <span class=${`rung back${failed ? " failed" : ""}${row.answered ? "" : " lost"}`}><span class="rung-text">${answer}</span></span>
    </span>
  </div>`;
});
