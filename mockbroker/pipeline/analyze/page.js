// Filters of the page: by client, by topic, by time. A row without the one is not asked for it.
// report.html?client=reader&topic=orders&from=10&to=20 begins with them.
(() => {
  const form = document.getElementById("filters");
  const rows = [...document.querySelectorAll("tr[data-row]")];
  const within = (text, part) => text === undefined || text.toLowerCase().includes(part);
  const number = (field) => (field.value === "" ? null : Number(field.value));

  function plots(from, to) {
    for (const plot of document.querySelectorAll(".js-plotly-plot")) {
      const axis = plot.layout && plot.layout.xaxis;
      const title = axis && axis.title && axis.title.text;
      if (title && title.startsWith("time since")) {
        const whole = from === null && to === null;
        const seen = (plot._fullLayout.xaxis.range || [0, 0]).map(Number);
        const range = [from === null ? seen[0] : from, to === null ? seen[1] : to];
        Plotly.relayout(plot, whole ? { "xaxis.autorange": true } : { "xaxis.range": range });
      }
    }
  }

  function apply() {
    const client = form.client.value.trim().toLowerCase();
    const topic = form.topic.value.trim().toLowerCase();
    const [from, to] = [number(form.from), number(form.to)];
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
    return [from, to];
  }

  const asked = new URLSearchParams(location.search);
  for (const name of ["client", "topic", "from", "to"]) {
    form[name].value = asked.get(name) || "";
  }
  form.addEventListener("input", () => plots(...apply()));
  form.addEventListener("reset", () => setTimeout(() => plots(...apply())));
  form.addEventListener("submit", (event) => event.preventDefault());
  const [from, to] = apply();
  if (from !== null || to !== null) {
    addEventListener("load", () => plots(from, to));
  }
})();
