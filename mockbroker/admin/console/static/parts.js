// Small pieces that views are made of.

import { Component, html, useState, useEffect, useRef } from "./vendor/preact-htm.js";
import { readOnly } from "./api.js";

const TABLE_ROWS = 60;

// A part that is drawn again only when one of its properties is another; it uses no hooks.
export function memo(draw) {
  return class extends Component {
    shouldComponentUpdate(next) {
      return Object.keys(next).some((name) => next[name] !== this.props[name]);
    }

    render(properties) {
      return draw(properties);
    }
  };
}

export function Problem({ problem }) {
  return problem ? html`<p class="problem" role="alert">${problem.message}</p>` : null;
}

export function Loading({ polled, children }) {
  if (polled.value === null && polled.problem === null) return html`<p class="quiet">Loading …</p>`;
  return html`<${Problem} problem=${polled.problem} />${polled.value === null ? null : children}`;
}

export function Empty({ children }) {
  return html`<p class="empty">${children}</p>`;
}

// A button that changes something; in a report it is not there.
export function Act({ onClick, children, kind = "", title, disabled }) {
  if (readOnly) return null;
  return html`<button type="button" class=${kind} title=${title} disabled=${disabled} onClick=${onClick}>${children}</button>`;
}

export function Copy({ text, children }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return undefined;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    await copyText(typeof text === "function" ? text() : text);
    setCopied(true);
  };
  return html`<button type="button" class="small" onClick=${copy}>${copied ? "Copied" : children}</button>`;
}

async function copyText(text) {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return;
    } catch {
      // Not allowed here, such as in a file: by hand then.
    }
  }
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

export function Field({ label, children, wide }) {
  return html`<label class=${wide ? "field wide" : "field"}><span>${label}</span>${children}</label>`;
}

export function Badge({ kind, children }) {
  return html`<span class=${`badge ${kind || ""}`}>${children}</span>`;
}

export function Facts({ of }) {
  return html`<dl class="facts">
    ${Object.entries(of).map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value}</dd></div>`)}
  </dl>`;
}

// A plain table; `columns` are [heading, cell of a row, class]. More rows come as one scrolls to them:
// those that nobody has seen are not drawn anew with each look.
export function Table({ label, columns, rows, keyOf }) {
  const [limit, setLimit] = useState(TABLE_ROWS);
  const more = () => setLimit((now) => now + TABLE_ROWS);
  const onScroll = ({ currentTarget: box }) => {
    if (rows.length > limit && box.scrollTop + 2 * box.clientHeight >= box.scrollHeight) more();
  };
  return html`<div class="table-box" tabindex="0" role="region" aria-label=${label} onScroll=${onScroll}>
    <table>
      <thead><tr>${columns.map(([heading, , kind]) => html`<th scope="col" key=${heading} class=${kind}>${heading}</th>`)}</tr></thead>
      <tbody>
        ${rows.slice(0, limit).map(
          (row, index) =>
            html`<tr key=${keyOf ? keyOf(row) : index}>
              ${columns.map(([heading, cell, kind]) => html`<td key=${heading} class=${kind}>${cell(row)}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
    ${rows.length > limit && html`<button type="button" onClick=${more}>Show more of ${rows.length - limit}</button>`}
  </div>`;
}

// What was asked before it is done, where it cannot be taken back.
export function Confirm({ children, question, onConfirm, kind }) {
  const [asked, setAsked] = useState(false);
  const yes = useRef(null);
  useEffect(() => {
    if (asked && yes.current) yes.current.focus();
  }, [asked]);
  if (readOnly) return null;
  if (!asked) {
    return html`<button type="button" class=${kind || "danger"} onClick=${() => setAsked(true)}>${children}</button>`;
  }
  const confirm = () => {
    setAsked(false);
    onConfirm();
  };
  return html`<span class="confirm" role="group" aria-label=${question}>
    ${question}
    <button type="button" class="danger" ref=${yes} onClick=${confirm}>Yes</button>
    <button type="button" onClick=${() => setAsked(false)}>No</button>
  </span>`;
}

export function Spark({ values, label }) {
  const width = 120;
  const height = 24;
  const course = values.length > 1 ? values : [...values, ...values]; // one look is a level line
  const top = Math.max(1, ...course);
  const step = width / Math.max(1, course.length - 1);
  const points = course.map((value, at) => `${(at * step).toFixed(1)},${(height - 2 - (value / top) * (height - 4)).toFixed(1)}`);
  return html`<svg class="spark" viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${label}>
    <polyline points=${points.join(" ")} />
  </svg>`;
}
