// The admin API as the console calls it, and the list of those calls: what the console does, the
// API does. In a report of a failed test the answers stand in the page itself and nothing is sent.

const TOKEN_KEY = "mockbroker-token";
const KEPT_CALLS = 60;
const MOST_ITEMS = 20000;
// What polls rests so many times as long as the broker worked for it, all polls of the page together:
// they cost it 2.5 % at most.
const PATIENCE = 40;
// What an answer costs the broker beside what it tells: to read the request, to write the answer.
const UNTOLD_MS = 0.5;
// On a machine that others use, it is told the longer an answer takes beside its processor time: the
// broker has so much less than a core, and what it is asked costs it so much more of that. For that
// reason alone no rest is longer than a person waits for news.
const MOST_HELD = 10;
const LONGEST_HELD_REST_MS = 5000;

const captured = readCaptured();
const callListeners = new Set();
const recentCalls = [];
let paidUntil = 0;
let heldUntil = 0;
let changes = 0;

export const readOnly = captured !== null;

export class ApiProblem extends Error {
  constructor(status, detail, field) {
    super(detail);
    this.status = status;
    this.field = field;
  }
}

function readCaptured() {
  const element = document.getElementById("captured");
  return element === null ? null : JSON.parse(element.textContent);
}

// A token comes by the login, or behind the # of an address, which no server ever sees.
export function takeTokenFromAddress() {
  const match = /^#token=([^&]*)$/u.exec(location.hash);
  if (match !== null) {
    sessionStorage.setItem(TOKEN_KEY, decodeURIComponent(match[1]));
    history.replaceState(null, "", "#/requests");
  }
}

export function setToken(token) {
  sessionStorage.setItem(TOKEN_KEY, token);
}

export function hasToken() {
  return Boolean(sessionStorage.getItem(TOKEN_KEY));
}

export function get(path, bill) {
  return send("GET", path, undefined, bill);
}

// What the broker took for answers: ms of its processor, and the same where it has less than a core.
export function newBill() {
  return { ms: 0, heldMs: 0 };
}

// `bill`, where one is given, is added to.
export async function send(method, path, body, bill = newBill()) {
  if (readOnly) return answerFromReport(method, path);
  const headers = { Accept: "application/json" };
  const token = sessionStorage.getItem(TOKEN_KEY);
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const began = performance.now();
  let status = 0;
  try {
    const answer = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
    });
    status = answer.status;
    addCost(bill, answer);
    const text = await answer.text();
    const data = text ? JSON.parse(text) : null;
    if (!answer.ok) {
      throw new ApiProblem(status, (data && data.detail) || `answered ${status}`, data && data.field);
    }
    if (method !== "GET") changes += 1;
    return data;
  } catch (error) {
    if (error instanceof ApiProblem) throw error;
    throw new ApiProblem(status, "the broker does not answer: has it stopped?");
  } finally {
    noteCall({ method, path, body, status, ms: performance.now() - began });
  }
}

function addCost(bill, answer) {
  const told = answer.headers.get("Server-Timing") || "";
  const [cpu, total] = ["cpu", "total"].map((name) => Number((told.split(`${name};dur=`)[1] || "0").split(",")[0]));
  const held = cpu > 0 ? Math.min(MOST_HELD, Math.max(1, total / cpu)) : 1;
  bill.ms += UNTOLD_MS + cpu;
  bill.heldMs += (UNTOLD_MS + cpu) * held;
}

function answerFromReport(method, path) {
  if (method !== "GET") throw new ApiProblem(0, "this is a report: nothing can be changed");
  const whole = captured.answers[path];
  if (whole !== undefined) return whole;
  const [plain, query] = path.split("?");
  for (const [name, value] of new URLSearchParams(query || "")) {
    const chosen = captured.answers[`${plain}?${name}=${value}`];
    if (chosen !== undefined) return chosen;
  }
  const partial = plain.endsWith("/records") || plain === "/v1/journal";
  const known = partial ? undefined : captured.answers[plain];
  if (known !== undefined) return known;
  throw new ApiProblem(404, "the report does not have that");
}

// How often this page has changed something at the broker.
export function changesMade() {
  return changes;
}

export function reportFacts() {
  return captured === null ? null : captured.facts;
}

// What polls is one call in the list, with how often it was made.
function noteCall(call) {
  const same = recentCalls.find((one) => one.method === "GET" && isSame(one, call));
  call.times = 1;
  if (same !== undefined) {
    call.times = same.times + 1;
    recentCalls.splice(recentCalls.indexOf(same), 1);
  }
  recentCalls.push(call);
  if (recentCalls.length > KEPT_CALLS) recentCalls.shift();
  for (const listener of callListeners) listener();
}

function isSame(one, other) {
  const plain = (call) => call.method + call.path.replace(/since=\d+/u, "");
  return plain(one) === plain(other);
}

export function calls() {
  return recentCalls;
}

export function onCall(listener) {
  callListeners.add(listener);
  return () => callListeners.delete(listener);
}

export function curlOf(call) {
  const parts = ["curl -s"];
  if (call.method !== "GET") parts.push(`-X ${call.method}`);
  parts.push(shellQuoted(location.origin + call.path));
  if (sessionStorage.getItem(TOKEN_KEY)) {
    parts.push('-H "Authorization: Bearer $MOCKBROKER_ADMIN_TOKEN"');
  }
  if (call.body !== undefined) {
    parts.push("-H 'Content-Type: application/json'", `-d ${shellQuoted(JSON.stringify(call.body))}`);
  }
  return parts.join(" ");
}

function shellQuoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

// A name within a path. Browsers resolve "." and "..", also where they are escaped: as names they lead
// nowhere, instead of to what stands above.
export function segment(name) {
  return name === "." || name === ".." ? `%25${name}` : encodeURIComponent(name);
}

export function pathOf(path, query) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `${path}${path.includes("?") ? "&" : "?"}${new URLSearchParams(given)}` : path;
}

// Every page of a list, one after the other.
export async function allPages(path, field, bill) {
  const found = [];
  let cursor;
  do {
    const page = await get(pathOf(path, { limit: 1000, cursor }), bill);
    for (const one of page[field]) found.push(one);
    cursor = page.next_cursor;
  } while (cursor && found.length < MOST_ITEMS);
  return found;
}

// How long to rest before the next poll, which costs what the last of its kind did.
export function restMs(bill, leastMs) {
  const now = performance.now();
  paidUntil = Math.max(now, paidUntil) + bill.ms * PATIENCE;
  heldUntil = Math.min(now + LONGEST_HELD_REST_MS, Math.max(now, heldUntil) + bill.heldMs * PATIENCE);
  return Math.max(leastMs, paidUntil - now, heldUntil - now);
}
