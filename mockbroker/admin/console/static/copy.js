// A row as code: an expectation in Python, a fault rule, a curl.

import { curlOf, pathOf } from "./api.js";
import { errorName } from "./journal.js";

// What tells the row from others: the filters that it fits.
function filtersOf(row) {
  const filters = { api: row.api, client: globLiteral(row.client_id) };
  if (row.topics.length) filters.topic = row.topics[0];
  if (row.groups.length) filters.group = row.groups[0];
  if (row.transactional_ids.length) filters.transactional_id = row.transactional_ids[0];
  if (row.errors.length) filters.error = errorName(row.errors[0]);
  return filters;
}

// A client id that has letters of a glob stands for itself.
function globLiteral(text) {
  return text.replace(/[*?[]/gu, "[$&]");
}

export function asExpectation(row) {
  const given = Object.entries(filtersOf(row)).map(([name, value]) => `${name}=${pythonText(value)}`);
  return `broker.journal.expect(${given.join(", ")})`;
}

export function asFault(row) {
  const { error, client, group, ...rest } = filtersOf(row);
  const rule = { ...rest, client, ...(group ? { group } : {}) };
  if (row.fault === null && row.cause !== "immediate" && row.completed_ms > row.arrived_ms && !error) {
    rule.delay_ms = Math.round(row.completed_ms - row.arrived_ms);
  } else {
    rule.error = error || "NOT_LEADER_OR_FOLLOWER";
  }
  rule.count = 1;
  return JSON.stringify({ rules: [rule] }, null, 2);
}

export function asCurl(row) {
  return curlOf({ method: "GET", path: pathOf("/v1/journal", { ...filtersOf(row), connection: row.connection, since: row.number - 1, limit: 1 }) });
}

// A text as Python writes it; JSON's escapes are Python's too, but for halves of pairs.
function pythonText(value) {
  return JSON.stringify(value);
}
