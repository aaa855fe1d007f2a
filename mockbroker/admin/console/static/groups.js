// Groups: members, assignments, lag with its course, and the rebalances with why each came.

import { html, useEffect, useRef } from "./vendor/preact-htm.js";
import { allPages, segment, send } from "./api.js";
import { useAction, useGet, usePolled } from "./hooks.js";
import { alterQuery, go, href } from "./router.js";
import { Badge, Confirm, Empty, Facts, Field, Loading, Problem, Spark, Table } from "./parts.js";
import { errorName, loadErrorNames } from "./journal.js";
import { useLines } from "./lines.js";
import { rebalancesOf } from "./rebalances.js";
import { number, partitionsText, since } from "./format.js";

const KEPT_LAGS = 120;
const lagsSeen = new Map();

export function Groups({ rest, query }) {
  return rest.length ? html`<${Group} key=${rest[0]} id=${rest[0]} />` : html`<${GroupList} query=${query} />`;
}

function noteLag(group) {
  const seen = lagsSeen.get(group.group_id) || [];
  seen.push(group.lag);
  if (seen.length > KEPT_LAGS) seen.shift();
  lagsSeen.set(group.group_id, seen);
}

function GroupList({ query }) {
  const found = usePolled(async (bill) => {
    const all = await allPages("/v1/groups", "groups", bill);
    all.forEach(noteLag);
    return all;
  }, "groups", 1000);
  const text = (query.search || "").toLowerCase();
  const rows = (found.value || []).filter((one) => one.group_id.toLowerCase().includes(text));
  return html`<div class="page">
    <h2>Groups</h2>
    <p class="quiet">Classic groups and consumer groups (KIP-848). This broker does not serve share groups (KIP-932) and streams groups (KIP-1071): ApiVersions tells their clients so.</p>
    <div class="form"><${Field} label="Search"><input type="search" value=${query.search || ""} onInput=${(event) => alterQuery({ search: event.currentTarget.value })} /><//></div>
    <${Loading} polled=${found}>
      ${rows.length === 0
        ? html`<${Empty}>There is no such group.<//>`
        : html`<${Table}
            label="Groups"
            rows=${rows}
            keyOf=${(one) => one.group_id}
            columns=${[
              ["Group", (one) => html`<a href=${href("groups", [one.group_id])}>${one.group_id}</a>`],
              ["Kind", (one) => one.type],
              ["State", (one) => html`<${Badge} kind=${one.state === "Stable" ? "good" : one.state === "Empty" ? "" : "warn"}>${one.state}<//>`],
              ["Generation", (one) => one.generation_id, "num"],
              ["Assignor", (one) => one.protocol || "–"],
              ["Members", (one) => one.members, "num"],
              ["Lag", (one) => number(one.lag), "num"],
              ["Course of the lag", (one) => html`<${Spark} values=${lagsSeen.get(one.group_id) || [one.lag]} label=${`Lag of ${one.group_id}, now ${one.lag}`} />`],
            ]}
          />`}
    <//>
  </div>`;
}

function Group({ id }) {
  const path = `/v1/groups/${segment(id)}`;
  const found = useGet(path);
  const history = useLines({ group: id });
  const noted = useRef(null);
  const [state, run] = useAction();
  useEffect(() => {
    loadErrorNames().catch(() => {});
  }, []);
  const group = found.value;
  if (group && noted.current !== group) {
    noted.current = group;
    noteLag(group);
  }
  const remove = () => run(async () => {
    await send("DELETE", path);
    go(href("groups"));
  });
  const rebalances = history.value ? rebalancesOf(history.value) : [];
  return html`<div class="page">
    <h2>${id}</h2>
    <p class="actions">
      <a href=${href("groups")}>All groups</a>
      <a href=${href("requests", [], { group: id })}>Its requests</a>
      <${Confirm} question="Delete the group with its offsets?" onConfirm=${remove}>Delete<//>
      <${Problem} problem=${state.problem} />
    </p>
    <${Loading} polled=${found}>
      ${group && html`
        <${Facts} of=${{ Kind: group.type, State: group.state, Generation: group.generation_id, Assignor: group.protocol || "–", Lag: number(group.lag) }} />
        <${Spark} values=${lagsSeen.get(id) || [group.lag]} label=${`Lag, now ${group.lag}`} />
        <h3>Members</h3>
        ${group.member_list.length === 0
          ? html`<${Empty}>It has no members.<//>`
          : html`<${Table}
              label="Members"
              rows=${group.member_list}
              keyOf=${(one) => one.member_id}
              columns=${[
                ["Client", (one) => html`<a href=${href("requests", [], { client: one.client_id })}>${one.client_id}</a>`],
                ["Member", (one) => html`<span class="mono">${one.member_id}</span>`],
                ["Instance", (one) => one.group_instance_id || "–"],
                ["Host", (one) => one.client_host],
                ["Epoch", (one) => (one.epoch === null ? "–" : one.epoch), "num"],
                ["Assigned", (one) => partitionsText(one.assignment)],
              ]}
            />`}
        <h3>Offsets</h3>
        <${Table}
          label="Offsets"
          rows=${group.offsets}
          keyOf=${(one) => `${one.topic}-${one.partition}`}
          columns=${[
            ["Partition", (one) => html`<a href=${href("topics", [one.topic], { partition: one.partition })}>${one.topic}-${one.partition}</a>`],
            ["Committed", (one) => (one.offset === null ? "nothing" : number(one.offset)), "num"],
            ["Lag", (one) => number(one.lag), "num"],
          ]}
        />
      `}
    <//>
    <h3>Rebalances</h3>
    <${Loading} polled=${history}>
      ${rebalances.length === 0
        ? html`<${Empty}>The journal has no rebalance of it: it keeps the last 2,048 requests.<//>`
        : html`<ol class="steps">
            ${rebalances.map((one) => html`<li key=${one.key} class=${one.bad ? "bad" : ""}><a class="at" href=${href("requests", [], { client: one.client, select: one.number })} title=${`Requests of ${one.client}`}>${since(one.at_ms)} s</a>${one.text}${one.errors.map((code) => html` <${Badge} kind="error" key=${code}>${errorName(code)}<//>`)}</li>`)}
          </ol>`}
    <//>
  </div>`;
}
