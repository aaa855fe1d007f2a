// Filters of the page: by client, by topic, by time, for rows and plots. What has none of it is not
// asked for it, and a plot says so. report.html?client=reader&topic=orders&from=10&to=20 begins
// with them.
(() => {
  const form = document.getElementById("filters");
  const rows = [...document.querySelectorAll("tr[data-row]")];
  const within = (text, part) => text === undefined || text.toLowerCase().includes(part);
  const number = (field) => (field.value === "" ? null : Number(field.value));
  // Arrays of a trace that have an element a point, or (heatmaps) a row.
  const LISTS = ["x", "y", "z", "text", "base", "customdata", "hovertext"];

  function asked() {
    return {
      client: form.client.value.trim().toLowerCase(),
      topic: form.topic.value.trim().toLowerCase(),
      from: number(form.from),
      to: number(form.to),
    };
  }

  // A trace of these clients and topics: `meta.clients` has what it is the sum of, `meta.points`
  // whose each of its points is (plots.py).
  function drawn(whole, meta, { client, topic }) {
    if (meta && meta.clients && client) {
      const wanted = Object.entries(meta.clients).filter(([name]) => within(name, client));
      return { y: whole.y.map((_, at) => wanted.reduce((sum, [, y]) => sum + y[at], 0)) };
    }
    const lists = LISTS.filter((name) => Array.isArray(whole[name]));
    const fits = (at) =>
      !(meta && meta.points && meta.points[at]) ||
      (within(meta.points[at].client, client) && within(meta.points[at].topic, topic));
    return Object.fromEntries(
      lists.map((name) => {
        // The columns of a heatmap are times, which stay.
        const kept = whole.z && name === "x";
        return [name, kept ? whole[name] : whole[name].filter((_, at) => fits(at))];
      }),
    );
  }

  function redraw(plot, filter) {
    if (!plot.wholeTraces) {
      plot.wholeTraces = plot.data.map((trace) =>
        Object.fromEntries(
          LISTS.filter((name) => trace[name] !== undefined).map((name) => [
            name,
            trace.z && name !== "x" ? trace[name] : Array.from(trace[name]),
          ]),
        ),
      );
    }
    const by = (plot.layout.meta && plot.layout.meta.by) || [];
    const lacking = ["client", "topic"].filter((name) => filter[name] && !by.includes(name));
    const box = plot.closest(".plot");
    if (lacking.length) {
      box.dataset.whole = `not by ${lacking.join(" and ")}`;
    } else {
      delete box.dataset.whole;
    }
    const traces = plot.data.map((trace, at) => ({
      ...trace,
      ...plot.wholeTraces[at],
      ...drawn(plot.wholeTraces[at], trace.meta, filter),
    }));
    const axis = plot.layout.xaxis;
    const layout = { ...plot.layout };
    const title = axis && axis.title && axis.title.text;
    if (title && title.startsWith("time since")) {
      plot.wholeRange ||= (plot._fullLayout.xaxis.range || [0, 0]).map(Number);
      const [first, last] = plot.wholeRange;
      const range = [filter.from === null ? first : filter.from, filter.to === null ? last : filter.to];
      layout.xaxis = { ...axis, range, autorange: false };
    }
    return Plotly.react(plot, traces, layout);
  }

  function plots(filter) {
    for (const plot of document.querySelectorAll(".js-plotly-plot")) {
      redraw(plot, filter);
    }
  }

  function apply() {
    const { client, topic, from, to } = asked();
    const active = Boolean(client || topic || from !== null || to !== null);
    let shown = 0;
    for (const row of rows) {
      const at = row.dataset.at === undefined ? null : Number(row.dataset.at);
      const fits =
        within(row.dataset.client, client) &&
        within(row.dataset.topic, topic) &&
        (at === null || ((from === null || at >= from) && (to === null || at <= to)));
      row.hidden = active ? !fits : row.dataset.row === "more";
      shown += row.hidden ? 0 : 1;
    }
    form.querySelector("output").value = active ? `${shown} of ${rows.length} rows` : "";
    return { filter: { client, topic, from, to }, active };
  }

  const words = new URLSearchParams(location.search);
  for (const name of ["client", "topic", "from", "to"]) {
    form[name].value = words.get(name) || "";
  }
  form.addEventListener("input", () => plots(apply().filter));
  form.addEventListener("reset", () => setTimeout(() => plots(apply().filter)));
  form.addEventListener("submit", (event) => event.preventDefault());
  const { filter, active } = apply();
  if (active) {
    addEventListener("load", () => plots(filter));
  }
})();
