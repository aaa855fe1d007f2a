// The address is the state of a view: #/requests?api=Fetch. It works in a file as on a server.

const addressListeners = new Set();

export function address() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decodePart);
  return { view: parts[0] || "requests", rest: parts.slice(1), query: Object.fromEntries(new URLSearchParams(query || "")) };
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
  if (location.hash !== target) location.hash = target;
}

// The same view with other parameters: no step back for each letter that is typed.
export function alterQuery(changes) {
  const { view, rest, query } = address();
  history.replaceState(null, "", href(view, rest, { ...query, ...changes }));
  tellAddress();
}

export function onAddress(listener) {
  addressListeners.add(listener);
  return () => addressListeners.delete(listener);
}

function tellAddress() {
  for (const listener of addressListeners) listener();
}

window.addEventListener("hashchange", tellAddress);
