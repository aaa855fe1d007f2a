// The address is the state of a view: #/requests?api=Fetch. It works in a file as on a server.

import { readOnly } from "./api.js";

const FIRST = readOnly ? "failure" : "requests";
const WRITE_MS = 150;

const addressListeners = new Set();
let unwritten = null;
let writing = 0;

export function address() {
  const [path, query] = (unwritten ?? location.hash).replace(/^#\/?/u, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decodePart);
  return { view: parts[0] || FIRST, rest: parts.slice(1), query: Object.fromEntries(new URLSearchParams(query || "")) };
}

function decodePart(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function href(view, rest = [], query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const path = ["#", view, ...rest.map((one) => encodeURIComponent(one))].join("/");
  return given.length ? `${path}?${new URLSearchParams(given)}` : path;
}

export function go(target) {
  write();
  if (location.hash !== target) location.hash = target;
}

// The same view with other parameters: no step back for each letter that is typed. Browsers take a
// few changes a second, an arrow key that is held makes more: the address follows when it rests.
export function alterQuery(changes) {
  const { view, rest, query } = address();
  unwritten = href(view, rest, { ...query, ...changes });
  clearTimeout(writing);
  writing = setTimeout(write, WRITE_MS);
  tellAddress();
}

function write() {
  clearTimeout(writing);
  if (unwritten !== null) history.replaceState(null, "", unwritten);
  unwritten = null;
}

export function onAddress(listener) {
  addressListeners.add(listener);
  return () => addressListeners.delete(listener);
}

function tellAddress() {
  for (const listener of addressListeners) listener();
}

window.addEventListener("pagehide", write);
window.addEventListener("hashchange", () => {
  clearTimeout(writing);
  unwritten = null;
  tellAddress();
});
