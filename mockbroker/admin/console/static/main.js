// The shell: navigation, login, the list of calls, and whichever view the address names.

import { html, render, useState, useEffect, useMemo, useRef } from "./vendor/preact-htm.js";
import { calls, curlOf, get, hasToken, onCall, readOnly, reportFacts, setToken, takeTokenFromAddress } from "./api.js";
import { lookAgain, useAddress, useGet } from "./hooks.js";
import { href } from "./router.js";
import { Copy } from "./parts.js";
import { Failure } from "./failure.js";
import { ms } from "./format.js";
import { VIEWS } from "./views.js";

const THEME_KEY = "mockbroker-theme";
const ANALYSIS = "/v1/journal/page"; // another page of this broker
const SHOWN = readOnly ? [["failure", "Failure", Failure], ...VIEWS] : VIEWS;

function App() {
  const { view, rest, query } = useAddress();
  const [locked, setLocked] = useState(false);
  const cluster = useGet("/v1/cluster", 2000);
  const chosen = SHOWN.find(([name]) => name === view);
  const main = useRef(null);
  useEffect(() => {
    document.title = `${chosen ? chosen[1] : "?"}${rest.length ? ` ${rest[0]}` : ""} – ${readOnly ? reportFacts().test : "mockbroker"}`;
  }, [view, rest[0]]);
  // On a telephone the views are a row that goes on to the side.
  useEffect(() => {
    const here = document.querySelector("nav.views [aria-current=page]");
    if (here) here.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [view, locked]);
  // A view is drawn when the address or what it asked for changes, not with each look at the cluster.
  const shown = useMemo(() => html`<${chosen ? chosen[2] : Unknown} key=${view} rest=${rest} query=${query} />`, [view, rest, query]);
  const needsToken = cluster.problem !== null && cluster.problem.status === 401;
  useEffect(() => setLocked(needsToken), [needsToken]);
  if (locked) return html`<${Login} onToken=${() => { setLocked(false); lookAgain(); }} />`;
  return html`
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); main.current.focus(); }}>To the view</a>
    <header class="top">
      <span class="brand">mockbroker</span>
      <span class="where">${whereText(cluster)}</span>
      ${hasPage(cluster) && html`<a class="analysis" href=${ANALYSIS} target="_blank" rel="noopener">Analysis of the journal</a>`}
      <${Theme} />
    </header>
    <nav class="views" aria-label="Views">
      ${SHOWN.map(([name, title]) => html`<a key=${name} href=${href(name)} aria-current=${name === view ? "page" : null}>${title}</a>`)}
    </nav>
    <main id="main" tabindex="-1" ref=${main}>
      <h1 class="sr-only">${chosen ? chosen[1] : "No such view"}</h1>
      ${shown}
    </main>
    ${readOnly ? html`<footer class="calls"><span class="quiet">A report: what the broker held when the test failed. Nothing is sent.</span></footer>` : html`<${Calls} />`}
  `;
}

function Unknown() {
  return html`<p class="empty">There is no such view.</p>`;
}

function whereText(cluster) {
  const facts = reportFacts();
  if (facts !== null) return `report of ${facts.test}`;
  if (cluster.problem !== null) return cluster.problem.message;
  return cluster.value === null ? "" : `${cluster.value.bootstrap_servers} · ${cluster.value.mockbroker}`;
}

// A link brings no token: where there is one, the page is not to be had by it.
function hasPage(cluster) {
  return !readOnly && !hasToken() && cluster.value !== null && cluster.value.journal_page;
}

function Theme() {
  const [theme, setTheme] = useState(() => localStore("get") || "auto");
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    localStore("set", theme);
  }, [theme]);
  const next = { auto: "light", light: "dark", dark: "auto" };
  return html`<button type="button" class="theme" onClick=${() => setTheme(next[theme])} title="Colours: as the system has them, light, dark">Colours: ${theme}</button>`;
}

function localStore(verb, value) {
  try {
    return verb === "get" ? localStorage.getItem(THEME_KEY) : localStorage.setItem(THEME_KEY, value);
  } catch {
    return null; // a file, where the browser keeps nothing
  }
}

function Login({ onToken }) {
  const [token, setText] = useState("");
  const [wrong, setWrong] = useState(false);
  const field = useRef(null);
  useEffect(() => field.current.focus(), []);
  const enter = async (event) => {
    event.preventDefault();
    setToken(token.trim());
    try {
      await get("/v1/cluster");
      onToken();
    } catch {
      setWrong(true);
    }
  };
  return html`<main class="login">
    <form onSubmit=${enter}>
      <h1>mockbroker</h1>
      <label><span>Token of the admin API</span><input ref=${field} type="password" autocomplete="off" value=${token} onInput=${(event) => setText(event.currentTarget.value)} /></label>
      <button type="submit" class="primary">Open</button>
      ${wrong && html`<p class="problem" role="alert">The broker does not take this token.</p>`}
      <p class="quiet">It is what --admin-token says; this tab keeps it until it is closed.</p>
    </form>
  </main>`;
}

function Calls() {
  const [, draw] = useState(0);
  const [open, setOpen] = useState(false);
  useEffect(() => {
    let timer = 0;
    const end = onCall(() => {
      if (!timer) timer = setTimeout(() => { timer = 0; draw((count) => count + 1); }, 200);
    });
    return () => { clearTimeout(timer); end(); };
  }, []);
  const list = calls();
  const last = list[list.length - 1];
  return html`<footer class="calls">
    <button type="button" class="plain" aria-expanded=${open} onClick=${() => setOpen(!open)}>Calls</button>
    ${last && html`<code class="last-call">${last.method} ${last.path}</code>`}
    ${open && html`<ol class="call-list" tabindex="0" aria-label="Calls of the admin API">
      ${[...list].reverse().map(
        (call) => html`<li key=${call.method + call.path}>
          <code>${call.method} ${call.path}${call.body === undefined ? "" : ` ${JSON.stringify(call.body)}`}</code>
          <span class=${call.status >= 400 || call.status === 0 ? "call-bad" : "quiet"}>${call.status || "no answer"}, ${ms(call.ms)}${call.times > 1 ? `, ${call.times} times` : ""}</span>
          <${Copy} text=${() => curlOf(call)}>curl<//>
        </li>`,
      )}
    </ol>`}
  </footer>`;
}

takeTokenFromAddress();
render(html`<${App} />`, document.getElementById("console"));
