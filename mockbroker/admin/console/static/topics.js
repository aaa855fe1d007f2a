// Topics: list, partitions, configs; records are in records.js.

import { html, useState } from "./vendor/preact-htm.js";
import { allPages, readOnly, segment, send } from "./api.js";
import { useAction, useGet, usePolled } from "./hooks.js";
import { alterQuery, go, href } from "./router.js";
import { Act, Badge, Confirm, Empty, Facts, Field, Loading, Problem, Table } from "./parts.js";
import { Records } from "./records.js";
import { bytes, number } from "./format.js";

export function Topics({ rest, query }) {
  return rest.length ? html`<${Topic} key=${rest[0]} name=${rest[0]} query=${query} />` : html`<${TopicList} query=${query} />`;
}

function TopicList({ query }) {
  const internal = query.internal === "true";
  const path = internal ? "/v1/topics?internal=true" : "/v1/topics";
  const found = usePolled((bill) => allPages(path, "topics", bill), path, 2000);
  const text = (query.search || "").toLowerCase();
  const rows = (found.value || []).filter((one) => one.name.toLowerCase().includes(text));
  return html`<div class="page">
    <h2>Topics</h2>
    <div class="form">
      <${Field} label="Search"><input type="search" value=${query.search || ""} onInput=${(event) => alterQuery({ search: event.currentTarget.value })} /><//>
      <button type="button" aria-pressed=${internal} onClick=${() => alterQuery({ internal: internal ? "" : "true" })}>Coordinators' topics too</button>
    </div>
    <${NewTopic} />
    <${Loading} polled=${found}>
      ${rows.length === 0
        ? html`<${Empty}>There is no such topic.<//>`
        : html`<${Table}
            label="Topics"
            rows=${rows}
            keyOf=${(one) => one.name}
            columns=${[
              ["Topic", (one) => html`<a href=${href("topics", [one.name])}>${one.name}</a> ${one.internal ? html`<${Badge}>internal<//>` : null}`],
              ["Partitions", (one) => number(one.partitions), "num"],
              ["Replicas", (one) => one.replication_factor, "num"],
              ["Records", (one) => number(one.records), "num"],
            ]}
          />`}
    <//>
  </div>`;
}

function NewTopic() {
  const [name, setName] = useState("");
  const [partitions, setPartitions] = useState("1");
  const [state, run] = useAction();
  if (readOnly) return null;
  const make = (event) => {
    event.preventDefault();
    run(() => send("POST", "/v1/topics", { name, partitions: Number(partitions) }));
  };
  return html`<form class="form" onSubmit=${make}>
    <${Field} label="New topic"><input value=${name} onInput=${(event) => setName(event.currentTarget.value)} required /><//>
    <${Field} label="Partitions"><input type="number" min="1" value=${partitions} onInput=${(event) => setPartitions(event.currentTarget.value)} /><//>
    <button type="submit" disabled=${state.busy}>Make</button>
    <${Problem} problem=${state.problem} />
  </form>`;
}

function Topic({ name, query }) {
  const found = useGet(`/v1/topics/${segment(name)}`);
  const [state, run] = useAction();
  const topic = found.value;
  const remove = () => run(async () => {
    await send("DELETE", `/v1/topics/${segment(name)}`);
    go(href("topics"));
  });
  return html`<div class="page">
    <h2>${name}</h2>
    <p class="actions">
      <a href=${href("topics")}>All topics</a>
      <a href=${href("requests", [], { topic: name })}>Its requests</a>
      <${Confirm} question="Delete all records?" onConfirm=${() => run(() => send("DELETE", `/v1/topics/${segment(name)}/records`))}>Delete records<//>
      <${Confirm} question="Delete the topic?" onConfirm=${remove}>Delete topic<//>
      <${Problem} problem=${state.problem} />
    </p>
    <${Loading} polled=${found}>
      ${topic && html`
        <${Facts} of=${{ Id: topic.topic_id, Records: number(topic.records), Partitions: number(topic.partitions), "Replication factor": topic.replication_factor }} />
        <${Records} name=${name} partitions=${topic.partition_list} query=${query} />
        <h3>Partitions</h3>
        <${Partitions} name=${name} list=${topic.partition_list} />
        <${Configs} name=${name} configs=${topic.configs} />
      `}
    <//>
  </div>`;
}

function Partitions({ name, list }) {
  return html`<${Table}
    label="Partitions"
    rows=${list}
    keyOf=${(one) => one.partition}
    columns=${[
      ["Partition", (one) => html`<a href=${href("topics", [name], { partition: one.partition })}>${one.partition}</a>`, "num"],
      ["Leader", (one) => (one.leader < 0 ? html`<${Badge} kind="error">none<//>` : html`<a href=${href("cluster", [name, one.partition])}>${one.leader}</a> <small>epoch ${one.leader_epoch}</small>`)],
      ["In sync", (one) => html`${one.isr.join(", ")} ${one.isr.length < one.replicas.length ? html`<${Badge} kind="warn">of ${one.replicas.join(", ")}<//>` : null}`],
      ["Log start", (one) => number(one.log_start_offset), "num"],
      ["Last stable", (one) => html`${number(one.last_stable_offset)}${one.last_stable_offset < one.high_watermark ? html` <a href=${href("transactions")}><${Badge} kind="warn">a transaction is open<//></a>` : null}`, "num"],
      ["High watermark", (one) => number(one.high_watermark), "num"],
      ["Log end", (one) => number(one.log_end_offset), "num"],
      ["Size", (one) => bytes(one.size_bytes), "num"],
    ]}
  />`;
}

function Configs({ name, configs }) {
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  const [state, run] = useAction();
  const set = (event) => {
    event.preventDefault();
    run(() => send("PATCH", `/v1/topics/${segment(name)}`, { configs: { [key]: value === "" ? null : value } }));
  };
  return html`<h3>Configs that were set</h3>
    ${Object.keys(configs).length ? html`<${Facts} of=${configs} />` : html`<p class="quiet">None: all are the broker's.</p>`}
    ${!readOnly && html`<form class="form" onSubmit=${set}>
      <${Field} label="Config"><input value=${key} placeholder="retention.ms" onInput=${(event) => setKey(event.currentTarget.value)} required /><//>
      <${Field} label="Value; empty: the default"><input value=${value} onInput=${(event) => setValue(event.currentTarget.value)} /><//>
      <${Act} onClick=${set} disabled=${state.busy}>Set<//>
      <${Problem} problem=${state.problem} />
    </form>`}`;
}
