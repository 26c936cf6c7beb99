// One run: its scores as the report's contents list them, then every answer, memory and message.
function runHero(data) {
  const { metrics, baselines } = data.results;
  const random = baselines.random?.value ?? 0, bound = (baselines.upper_bound ?? baselines.everything)?.value ?? 1;
  const overall = scale(metrics.overall, { low: random, high: bound, left: "random", right: "upper bound" });
  const memory = metrics.memory && metrics.memory.value !== null ? [[shown(metrics.memory), "memory: from no better than chance, 0, to perfect, 1", scale(metrics.memory, { low: 0, high: 1, left: "chance", right: "perfect" })]] : [];
  const gain = data.results.isolated?.gain && data.results.isolated.gain.value !== null ? [[shown(data.results.isolated.gain), "gain over no memory, with the same reasoner"]] : [];
  const unscored = metrics.unscored?.value ?? 0;
  return hero([[shown(metrics.overall), "overall: answers that are right", overall], ...memory, ...gain,
    [percent(unscored), "of the answers could not be scored, and count as wrong", null, unscored > data.red ? "bad" : null],
    [count(data.results.users), plural(data.results.users, data.noun)]]);
}

function drawCell(cell, { digits, missing, whiskers }) {
  if (typeof cell === "string") return cell;
  return whiskers ? [shown(cell, digits, missing), whisker(cell)] : shown(cell, digits, missing);
}

function drawBlock(block, data) {
  if (typeof block === "string") return el("p", {}, block);
  if (block.rows) return table(block.head, block.rows.map((row) => row.map((cell) => drawCell(cell, block))));
  if (block.metrics) return [periodTable(block.metrics), userTable(data)];
  return lineChart(Object.entries(block.lines).map(([label, points]) => ({ label, points })), block);
}

function periodTable(metrics) {
  const rows = Object.entries(metrics).map(([name, values]) => ({ name, label: words(name), values }));
  const columns = [...rows[0].values.keys()];
  const pick = (row, period) => browse({ user: "", period: String(period), kind: "question", status: row.label === "overall" ? "" : "wrong", failure: FAILURES.includes(row.name) ? row.name.replace("_failure", "") : "" });
  return heatMap(rows, columns, { corner: "period", caption: "At the end of each period; a cell opens its answers below.", pick });
}

function userTable(data) {
  const rows = data.users.map((user) => ({ label: user.name, id: user.id, values: user.overall.map((value) => ({ value, low: null, high: null })) }));
  return heatMap(rows, [...Array(data.periods).keys()],
    { corner: "period", caption: "Share of right answers of each user; a cell opens its answers below.", pick: (row, period) => browse({ user: row.id, period: String(period), kind: "question", status: "", failure: "" }) });
}

function runPage(data) {
  for (const { key, title, blocks } of data.sections) {
    const notes = key === "scores" ? data.notes.map((note) => el("p", { class: "quiet" }, note)) : [];
    section(key, title, notes, ...blocks.map((block) => drawBlock(block, data)));
  }
  startBrowsing(data);
}
