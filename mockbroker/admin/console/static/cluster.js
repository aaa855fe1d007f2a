// Brokers and the links between them; the logs of a partition's replicas side by side.

import { html, useState } from "./vendor/preact-htm.js";
import { readOnly, segment, send } from "./api.js";
import { useAction, useGet } from "./hooks.js";
import { go, href } from "./router.js";
import { Act, Badge, Confirm, Empty, Facts, Field, Loading, Problem, Table } from "./parts.js";
import { bytes, number } from "./format.js";

const CONTROLLER = -1;

export function Cluster({ rest }) {
  const cluster = useGet("/v1/cluster");
  const [state, run] = useAction();
  const act = (action, fields) => run(() => send("POST", "/v1/cluster/actions", { actions: [{ action, ...fields }] }));
  const brokers = cluster.value ? cluster.value.brokers : [];
  return html`<div class="page">
    <h2>Cluster</h2>
    <${Problem} problem=${state.problem} />
    <${Loading} polled=${cluster}>
      ${cluster.value && html`<${Facts} of=${{ "Cluster id": cluster.value.cluster_id, "bootstrap.servers": cluster.value.bootstrap_servers.replaceAll(",", ", "), Topics: number(cluster.value.topics), Groups: number(cluster.value.groups) }} />`}
      <div class="cards">${brokers.map((one) => html`<${Broker} key=${one.node_id} broker=${one} several=${brokers.length > 1} act=${act} />`)}</div>
    <//>
    <${Logs} rest=${rest} act=${act} />
    ${brokers.length > 1 && html`<${Links} brokers=${brokers} act=${act} />`}
    <${Connections} />
  </div>`;
}

function Broker({ broker, several, act }) {
  const node = { node_id: broker.node_id };
  return html`<div class="card">
    <h3>Broker ${broker.node_id} ${broker.running ? html`<${Badge} kind="good">up<//>` : html`<${Badge} kind="error">down<//>`} ${broker.fenced ? html`<${Badge} kind="warn">fenced<//>` : null}</h3>
    <${Facts} of=${{ Connections: broker.connections, Rack: broker.rack || "–", ...(broker.log_bytes === null ? {} : { Logs: `${bytes(broker.log_bytes)} of ${bytes(broker.memory_limit_bytes)}` }) }} />
    ${several && !readOnly && html`<p class="actions">
      ${broker.running
        ? html`<${Confirm} question=${`Kill broker ${broker.node_id}?`} onConfirm=${() => act("kill", node)}>Kill<//>
            <${Act} onClick=${() => act("stop", node)}>Stop<//>
            ${broker.fenced ? html`<${Act} onClick=${() => act("unfence", node)}>Unfence<//>` : html`<${Act} onClick=${() => act("fence", node)}>Fence<//>`}`
        : html`<${Act} kind="primary" onClick=${() => act("revive", node)}>Revive<//>`}
      <${Act} onClick=${() => act("isolate", node)}>Isolate<//>
      <${Act} onClick=${() => act("reconnect", node)}>Reconnect<//>
    </p>`}
  </div>`;
}

function Logs({ rest, act }) {
  const [topic, partition] = [rest[0], rest[1] || "0"];
  const [wanted, setWanted] = useState(topic || "");
  const [index, setIndex] = useState(partition);
  const show = (event) => {
    event.preventDefault();
    go(href("cluster", [wanted, index || "0"]));
  };
  return html`<section>
    <h3>Logs of a partition, side by side</h3>
    ${!readOnly && html`<form class="form" onSubmit=${show}>
      <${Field} label="Topic"><input value=${wanted} onInput=${(event) => setWanted(event.currentTarget.value)} required /><//>
      <${Field} label="Partition"><input type="number" min="0" value=${index} onInput=${(event) => setIndex(event.currentTarget.value)} /><//>
      <button type="submit">Show</button>
    </form>`}
    ${topic ? html`<${Replicas} key=${`${topic}-${partition}`} topic=${topic} partition=${Number(partition)} act=${act} />` : html`<p class="quiet">A leader in a topic's list of partitions leads here, too.</p>`}
  </section>`;
}

function Replicas({ topic, partition, act }) {
  const found = useGet(`/v1/replicas/${segment(topic)}/${partition}`);
  const list = found.value ? found.value.replicas : [];
  const ends = list.map((one) => one.log_end_offset || 0);
  const starts = list.map((one) => one.log_start_offset || 0);
  const low = Math.min(...starts, Infinity);
  const high = Math.max(...ends, low + 1);
  const place = { topic, partition };
  const held = list.some((one) => one.high_watermark_held);
  return html`<${Loading} polled=${found}>
    ${list.map((one) => html`<${Log} key=${one.node_id} log=${one} low=${low} high=${high} />`)}
    <p class="quiet">A bar is a log from its first to its last offset, in shades by leader epoch; the line is the high watermark, what stands behind it another colour.</p>
    ${list.length > 1 && !readOnly && html`<p class="actions">
      ${list.filter((one) => !one.is_leader && one.in_sync && one.running).map((one) => html`<${Act} key=${one.node_id} onClick=${() => act("move_leader", { ...place, to: one.node_id })}>Lead from ${one.node_id}<//>`)}
      ${held ? html`<${Act} onClick=${() => act("release_high_watermark", place)}>Release high watermark<//>` : html`<${Act} onClick=${() => act("hold_high_watermark", place)}>Hold high watermark<//>`}
      ${list.filter((one) => !one.is_leader && one.running).map((one) => one.follower_held
        ? html`<${Act} key=${`f${one.node_id}`} onClick=${() => act("release_follower", { ...place, node_id: one.node_id })}>Release follower ${one.node_id}<//>`
        : html`<${Act} key=${`f${one.node_id}`} onClick=${() => act("hold_follower", { ...place, node_id: one.node_id })}>Hold follower ${one.node_id}<//>`)}
    </p>`}
    <${Table}
      label="Replicas"
      rows=${list}
      keyOf=${(one) => one.node_id}
      columns=${[
        ["Broker", (one) => one.node_id, "num"],
        ["Is", (one) => html`${one.is_leader ? html`<${Badge} kind="good">leader<//>` : "follower"} ${one.in_sync ? null : html`<${Badge} kind="warn">not in sync<//>`} ${one.running ? null : html`<${Badge} kind="error">down<//>`} ${one.follower_held ? html`<${Badge} kind="fault">held<//>` : null} ${one.high_watermark_held ? html`<${Badge} kind="fault">high watermark held<//>` : null}`],
        ["Log start", (one) => number(one.log_start_offset), "num"],
        ["High watermark", (one) => number(one.high_watermark), "num"],
        ["Log end", (one) => number(one.log_end_offset), "num"],
        ["Size", (one) => bytes(one.size_bytes), "num"],
        ["Epochs, from offset", (one) => one.epochs.map((each) => `${each.epoch} from ${each.start_offset}`).join(", ") || "–"],
      ]}
    />
  <//>`;
}

function Log({ log, low, high }) {
  const share = (offset) => ((offset - low) / (high - low)) * 100;
  const end = log.log_end_offset;
  const label = `Broker ${log.node_id}`;
  if (end === null) {
    return html`<div class="log-row"><span>${label}</span><div class="log-track"></div><span class="quiet">nothing stored</span></div>`;
  }
  const epochs = log.epochs.length ? log.epochs : [{ epoch: 0, start_offset: log.log_start_offset }];
  const parts = epochs.map((one, at) => {
    const from = Math.max(one.start_offset, log.log_start_offset);
    const to = at + 1 < epochs.length ? epochs[at + 1].start_offset : end;
    return { ...one, from, to };
  });
  const box = (from, to) => ({ left: `${share(from)}%`, width: `${Math.max(0, share(to) - share(from))}%` });
  return html`<div class="log-row">
    <span>${label}${log.is_leader ? " ★" : ""}</span>
    <div class="log-track" role="img" aria-label=${`${label}: offsets ${log.log_start_offset} to ${end}, high watermark ${log.high_watermark}`}>
      ${parts.map((one, at) => html`<span key=${one.epoch} class=${at % 2 ? "log-part even" : "log-part"} style=${box(one.from, Math.min(one.to, Math.max(log.high_watermark, one.from)))} title=${`epoch ${one.epoch} from ${one.start_offset}`}></span>`)}
      <span class="log-part above" style=${box(log.high_watermark, end)}></span>
      <span class="log-mark" style=${{ left: `calc(${share(log.high_watermark)}% - 1px)` }}></span>
    </div>
    <span>${number(log.log_start_offset)}–${number(end)}, hw ${number(log.high_watermark)}</span>
  </div>`;
}

function Links({ brokers, act }) {
  const found = useGet("/v1/links");
  const faults = new Map((found.value ? found.value.links : []).map((one) => [`${one.source}>${one.target}`, one]));
  const ends = [...brokers.map((one) => one.node_id), CONTROLLER];
  const name = (id) => (id === CONTROLLER ? "controller" : String(id));
  return html`<section>
    <h3>Links</h3>
    <${Loading} polled=${found}>
      <div class="table-box" tabindex="0" role="region" aria-label="Links between brokers">
        <table class="matrix">
          <thead><tr><th scope="col">from, to</th>${ends.map((id) => html`<th scope="col" key=${id}>${name(id)}</th>`)}</tr></thead>
          <tbody>${ends.map((source) => html`<tr key=${source}><th scope="row">${name(source)}</th>${ends.map((target) => html`<td key=${target}>${source === target ? "" : html`<${Link} fault=${faults.get(`${source}>${target}`)} ends=${{ source, target }} act=${act} />`}</td>`)}</tr>`)}</tbody>
        </table>
      </div>
    <//>
  </section>`;
}

function Link({ fault, ends, act }) {
  const text = !fault ? "open" : fault.cut ? "cut" : fault.held ? "held" : `${fault.delay_ms} ms`;
  const says = `Link from ${ends.source} to ${ends.target}: ${text}`;
  if (readOnly) return html`<${Badge} kind=${fault ? "warn" : ""}>${text}<//>`;
  return html`<${Badge} kind=${fault ? "warn" : ""}>${text}<//> <button type="button" class="small" aria-label=${`${says}. ${fault ? "Restore" : "Cut"}`} onClick=${() => act(fault ? "restore_link" : "cut_link", ends)}>${fault ? "restore" : "cut"}</button>`;
}

function Connections() {
  const found = useGet("/v1/connections", 2000);
  const list = found.value ? found.value.connections : [];
  return html`<section><h3>Connections</h3>
    <${Loading} polled=${found}>
      ${list.length === 0 ? html`<${Empty}>No client is connected.<//>` : html`<${Table}
        label="Connections"
        rows=${list}
        keyOf=${(one) => `${one.broker}-${one.connection}`}
        columns=${[
          ["Client", (one) => html`<a href=${href("requests", [], { connection: one.connection, broker: one.broker, as: "ladder" })}>${one.client_id || "?"}#${one.connection}</a>`],
          ["Broker", (one) => one.broker, "num"],
          ["Library", (one) => one.software || "–"],
          ["From", (one) => one.peer],
          ["Listener", (one) => one.listener],
          ["Principal", (one) => one.principal],
          ["TLS", (one) => one.tls_version || "–"],
          ["Requests", (one) => number(one.requests), "num"],
        ]}
      />`}
    <//></section>`;
}
