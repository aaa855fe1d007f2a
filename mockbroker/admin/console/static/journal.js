// The requests that the page has seen, up to 100,000: asked for again and again behind a cursor.
//
// The broker keeps 2,048. Who begins to look sees these; later, where more comes than may be asked for,
// the newest are shown, and what went by is told as a gap. Filters mean here what they mean to
// GET /v1/journal.

import { get, newBill, pathOf, readOnly, restMs } from "./api.js";

const MOST_ROWS = 100000;
const LEAST_MS = 250;
const PAGE_ROWS = 500;
// Asked for without a rest by who begins to look: all that the broker keeps.
const CATCH_UP_ROWS = 2048;

export const FILTERS = ["api", "client", "topic", "group", "transactional_id", "error", "fault", "connection"];

class JournalStore {
  constructor() {
    this.rows = [];
    this.asked = false; // whether the broker has answered at all
    this.cursor = 0;
    this.first = 0; // of those that the broker still keeps
    this.everything = false;
    this.problem = null;
    this.dropped = 0;
    this.began = 0; // how often the broker began anew
    this.listeners = new Set();
    this.timer = 0;
    this.users = 0;
    this.generation = 0;
    this.catchUp = 0;
  }

  // Rows are asked for while somebody needs them.
  use(listener) {
    this.listeners.add(listener);
    this.users += 1;
    if (this.users === 1) {
      this.catchUp = CATCH_UP_ROWS;
      this.next(++this.generation);
    }
    return () => {
      this.listeners.delete(listener);
      this.users -= 1;
      if (this.users === 0) {
        this.generation += 1;
        clearTimeout(this.timer);
      }
    };
  }

  async next(generation) {
    let rest = LEAST_MS;
    if (readOnly && this.cursor) {
      this.tell();
    } else if (!document.hidden || this.cursor === 0) {
      try {
        const bill = newBill();
        const page = await get(pathOf("/v1/journal/rows", { since: this.cursor, limit: this.everything ? 1000 : PAGE_ROWS }), bill);
        if (generation !== this.generation) return;
        this.take(page);
        this.problem = null;
        rest = this.restBehind(page, restMs(bill, LEAST_MS));
      } catch (problem) {
        if (generation !== this.generation) return;
        this.problem = problem;
        rest = 1000;
      }
      this.tell();
    } else {
      this.catchUp = CATCH_UP_ROWS;
    }
    if (!readOnly) this.timer = setTimeout(() => this.next(generation), rest);
  }

  // How long to wait behind a page; what comes too fast for that goes by.
  restBehind(page, paced) {
    if (!page.more) {
      this.catchUp = 0;
      return this.everything ? LEAST_MS : paced;
    }
    if (this.everything || this.catchUp > 0) {
      this.catchUp -= page.rows.length;
      return 0;
    }
    this.missed(page.newest - this.cursor);
    this.cursor = page.newest;
    return paced;
  }

  missed(count) {
    const last = this.rows[this.rows.length - 1];
    if (last && last.gap !== undefined) last.gap += count;
    else this.rows.push({ gap: count, number: this.cursor + 0.5 });
  }

  take(page) {
    this.asked = true;
    if (page.next_cursor < this.cursor) this.clear();
    if (this.cursor && page.first > this.cursor + 1) this.missed(page.first - this.cursor - 1);
    for (const row of page.rows) this.rows.push(row);
    this.cursor = page.next_cursor;
    this.first = page.first;
    if (this.rows.length > MOST_ROWS) {
      // Some at a time: to cut the front off copies what stays.
      const gone = this.rows.length - MOST_ROWS + MOST_ROWS / 100;
      this.rows = this.rows.slice(gone);
      this.dropped += gone;
    }
  }

  clear() {
    this.cursor = 0;
    this.rows = [];
    this.dropped = 0;
    this.began += 1;
  }

  tell() {
    for (const listener of this.listeners) listener();
  }
}

export const journal = new JournalStore();

// The filter of an address, as a question to a row.
export function rowFilter(query) {
  const tests = [];
  const text = (query.search || "").toLowerCase();
  if (query.api) tests.push((row) => row.api === query.api);
  if (query.client) {
    const glob = globOf(query.client);
    tests.push((row) => glob.test(row.client_id));
  }
  if (query.topic) tests.push((row) => row.topics.includes(query.topic));
  if (query.group) tests.push((row) => row.groups.includes(query.group));
  if (query.transactional_id) tests.push((row) => row.transactional_ids.includes(query.transactional_id));
  if (query.connection) tests.push((row) => row.connection === Number(query.connection));
  if (query.broker) tests.push((row) => row.broker === Number(query.broker));
  if (query.error) tests.push(errorTest(query.error));
  if (query.fault) {
    const wanted = query.fault;
    tests.push((row) => (wanted === "true" ? row.fault !== null : wanted === "false" ? row.fault === null : (row.fault || "").split(",").includes(wanted)));
  }
  if (text) tests.push((row) => searchText(row).includes(text));
  if (!tests.length) return null;
  return (row) => row.gap === undefined && tests.every((test) => test(row));
}

function errorTest(wanted) {
  if (wanted === "true") return (row) => row.errors.length > 0;
  if (wanted === "false") return (row) => row.errors.length === 0;
  const code = Number.isNaN(Number(wanted)) ? errorCode(wanted) : Number(wanted);
  return (row) => (code === 0 ? row.errors.length === 0 : row.errors.includes(code));
}

function searchText(row) {
  return `${row.api} ${row.client_id} ${row.about} ${row.cause} ${row.fault || ""} ${row.errors.map(errorName).join(" ")}`.toLowerCase();
}

// A glob as Python's fnmatch has it.
function globOf(glob) {
  let source = "";
  for (let at = 0; at < glob.length; at += 1) {
    const letter = glob[at];
    const end = letter === "[" ? glob.indexOf("]", at + 2) : -1;
    if (letter === "*") source += ".*";
    else if (letter === "?") source += ".";
    else if (end > 0) {
      source += `[${glob.slice(at + 1, end).replaceAll("\\", "\\\\").replace(/^!/u, "^")}]`;
      at = end;
    } else source += letter.replace(/[\\^$.|+()[\]{}]/gu, "\\$&");
  }
  try {
    return new RegExp(`^${source}$`, "su");
  } catch {
    return /^$/u;
  }
}

const errorNames = new Map();
const errorCodes = new Map();

export async function loadErrorNames() {
  if (errorNames.size) return;
  const { errors } = await get("/v1/protocol");
  for (const { code, name } of errors) {
    errorNames.set(code, name);
    errorCodes.set(name, code);
  }
}

export function errorName(code) {
  return errorNames.get(code) || String(code);
}

function errorCode(name) {
  const code = errorCodes.get(name.toUpperCase());
  return code === undefined ? NaN : code;
}
