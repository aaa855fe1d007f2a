// Fetch sessions, who waits, and the high watermark as each reader knows it.

import { html } from "./vendor/preact-htm.js";
import { segment } from "./api.js";
import { useGet } from "./hooks.js";
import { href } from "./router.js";
import { Badge, Empty, Facts, Loading, Table } from "./parts.js";
import { bytes, ms, number } from "./format.js";

export function Fetch({ rest }) {
  if (rest.length === 2) return html`<${OneSession} broker=${rest[0]} id=${rest[1]} />`;
  return html`<div class="page"><${Waits} /><${Sessions} /></div>`;
}

// With `clients` alone those of clients: followers wait all the time.
export function Waits({ clients = false }) {
  const found = useGet("/v1/waits");
  const now = found.value ? found.value.now_ms : 0;
  const rows = found.value ? found.value.waits.filter((one) => !clients || one.connection >= 0) : [];
  return html`<section>
    <h2>Who waits</h2>
    <${Loading} polled=${found}>
      ${rows.length === 0
        ? html`<${Empty}>Nobody waits: every request ${clients ? "of a client " : ""}that arrived is answered.<//>`
        : html`<${Table}
            label="Requests that wait"
            rows=${rows}
            keyOf=${(one) => `${one.broker}-${one.connection}`}
            columns=${[
              ["Client", (one) => html`<a href=${href("requests", [], { connection: one.connection, broker: one.broker, as: "ladder" })}>${one.connection < 0 ? "follower" : one.client_id}#${one.connection}</a>`],
              ["Broker", (one) => one.broker, "num"],
              ["API", (one) => `${one.api} v${one.version}`, "nowrap"],
              ["Waits on", (one) => (one.session_id ? html`<a href=${href("fetch", [one.broker, one.session_id])}>session ${one.session_id}</a>` : one.keys.join(", "))],
              ["Since", (one) => ms(Math.max(0, now - one.since_ms)), "num"],
              ["Until", (one) => (one.until_ms === null ? "–" : `in ${ms(Math.max(0, one.until_ms - now))}`), "num"],
              ["What would wake it", (one) => one.wakes],
            ]}
          />`}
    <//>
  </section>`;
}

function Sessions() {
  const found = useGet("/v1/fetch-sessions");
  const value = found.value;
  return html`<section>
    <h2>Fetch sessions</h2>
    <${Loading} polled=${found}>
      ${value && html`<div class="cards">
        ${value.brokers.map(
          (one) => html`<div class="card" key=${one.broker}><h3>Broker ${one.broker}</h3>
            <${Facts} of=${{ Sessions: number(one.sessions), Evicted: number(one.evictions), "Saved in requests": bytes(one.request_bytes_saved), "Saved in answers": bytes(one.response_bytes_saved) }} /></div>`,
        )}
      </div>`}
      ${value && !value.sessions.length
        ? html`<${Empty}>There is no session: no consumer or follower fetches incrementally.<//>`
        : html`<${Table}
            label="Fetch sessions"
            rows=${value ? value.sessions : []}
            keyOf=${(one) => `${one.broker}-${one.session_id}`}
            columns=${[
              ["Session", (one) => html`<a href=${href("fetch", [one.broker, one.session_id])}>${one.session_id}</a>`],
              ["Broker", (one) => one.broker, "num"],
              ["Epoch", (one) => one.epoch, "num"],
              ["Of", (one) => (one.privileged ? html`<${Badge}>follower<//>` : "consumer")],
              ["Partitions", (one) => number(one.partitions), "num"],
              ["Changed", (one) => number(one.changed), "num"],
              ["Ready", (one) => number(one.ready), "num"],
              ["Parked", (one) => one.waits, "num"],
              ["Saved in requests", (one) => bytes(one.request_bytes_saved), "num"],
              ["Saved in answers", (one) => bytes(one.response_bytes_saved), "num"],
              ["Age", (one) => ms(value.now_ms - one.created_ms), "num"],
              ["Used", (one) => `${ms(Math.max(0, value.now_ms - one.last_used_ms))} ago`, "num"],
            ]}
          />`}
    <//>
  </section>`;
}

function OneSession({ broker, id }) {
  const found = useGet(`/v1/fetch-sessions/${segment(broker)}/${segment(id)}`);
  return html`<div class="page">
    <h2>Session ${id} of broker ${broker}</h2>
    <p class="actions"><a href=${href("fetch")}>All sessions</a></p>
    <${Loading} polled=${found}>
      <${Table}
        label="Partitions of the session"
        rows=${found.value ? found.value.partitions : []}
        keyOf=${(one) => `${one.topic}-${one.partition}`}
        columns=${[
          ["Partition", (one) => html`<a href=${href("topics", [one.topic], { partition: one.partition })}>${one.topic}-${one.partition}</a>`],
          ["State", (one) => html`<${Badge} kind=${one.state === "quiet" ? "" : "warn"}>${one.state}<//>`],
          ["Fetches from", (one) => number(one.fetch_offset), "num"],
          ["High watermark it knows", (one) => (one.high_watermark_known === null ? "does not tell" : number(one.high_watermark_known)), "num"],
          ["was told", (one) => (one.high_watermark_told < 0 ? "–" : number(one.high_watermark_told)), "num"],
          ["is", (one) => number(one.high_watermark), "num"],
          ["Log end", (one) => number(one.log_end_offset), "num"],
        ]}
      />
    <//>
  </div>`;
}
