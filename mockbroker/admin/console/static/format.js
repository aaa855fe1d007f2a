// Numbers, sizes and times as people read them.

const BYTE_UNITS = ["B", "kB", "MB", "GB"];

export function bytes(count) {
  if (count === null || count === undefined) return "–";
  let unit = 0;
  let value = count;
  while (value >= 1000 && unit < BYTE_UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit && value < 100 ? value.toFixed(1) : Math.round(value)} ${BYTE_UNITS[unit]}`;
}

export function number(value) {
  return value === null || value === undefined ? "–" : Number(value).toLocaleString("en-GB");
}

export function ms(value) {
  if (value === null || value === undefined) return "–";
  if (value >= 60000) return `${(value / 60000).toFixed(1)} min`;
  if (value >= 10000) return `${(value / 1000).toFixed(1)} s`;
  return value >= 100 || value === 0 ? `${Math.round(value)} ms` : `${value.toFixed(value < 1 ? 2 : 1)} ms`;
}

export function since(value) {
  return `+${(value / 1000).toFixed(3)}`;
}

export function wallTime(value) {
  return value < 0 ? "–" : new Date(value).toISOString().replace("T", " ").replace("Z", "");
}

export function plural(count, word) {
  return `${number(count)} ${word}${count === 1 ? "" : "s"}`;
}

export function partitionsText(byTopic) {
  const parts = Object.entries(byTopic).map(([topic, indexes]) => `${topic} [${rangesText(indexes)}]`);
  return parts.join(", ") || "none";
}

// 0–3, 5, 7–9
export function rangesText(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const found = [];
  for (const one of sorted) {
    const last = found[found.length - 1];
    if (last && last[1] === one - 1) last[1] = one;
    else found.push([one, one]);
  }
  return found.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)).join(", ");
}

export function bytesOfBase64(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

export function hexOf(data) {
  return Array.from(data, (one) => one.toString(16).padStart(2, "0"));
}

export function textOfBytes(data) {
  return Array.from(data, (one) => (one >= 32 && one < 127 ? String.fromCharCode(one) : "·")).join("");
}

// JSON over several lines; its numbers stay as they are written, however many digits they have. What
// is no JSON stays as it is.
export function prettyJson(text) {
  try {
    JSON.parse(text);
  } catch {
    return text;
  }
  let depth = 0;
  let found = "";
  let opened = false; // by the token before
  const line = () => `\n${" ".repeat(depth)}`;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s[\]{}:,"]+/gsu)) {
    const closes = token === "}" || token === "]";
    if (closes) depth -= 1;
    if (opened !== closes) found += opened || closes ? line() : "";
    found += token === "," ? `,${line()}` : token === ":" ? ": " : token;
    opened = token === "{" || token === "[";
    if (opened) depth += 1;
  }
  return found;
}
