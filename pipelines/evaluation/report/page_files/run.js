// One run: its scores, then every answer, memory and message.
function scoreTable(names, estimates, data) {
  return table(["", "", "", "meaning", "formula"], names.map((name) => [words(name), shown(estimates[name]), whisker(estimates[name]), ...data.meanings[name]]));
}

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

function isolatedTable(found) {
  const rows = [["S: with the memory", found.memory], ["N: with none", found.none], ["O: with the needed facts", found.facts], ["F: with everything", found.everything],
    ["S - N", found.gain], ["(S - N) / (O - N)", found.gain_share]];
  return table(["same reasoner, budget and seed", "", ""], rows.map(([name, one]) => [name, shown(one), whisker(one)]), found.unasked ? `${count(found.unasked)} of ${counted(found.items, "question")} ${found.unasked === 1 ? "was" : "were"} never asked, because the memory failed; S counts them as wrong.` : `Over ${counted(found.items, "question")} asked in every condition.`);
}

function curveChart(curve) {
  return lineChart([{ label: "overall", points: curve.map((point) => [point.tokens, point.overall]) }], { x: "tokens of recalled text", y: "overall", top: 1 });
}

function probeTable(found) {
  return table(["all needed values by the probes", "answered rightly", "not"], ["known", "not known"].map((known) => [known, count(found[`${known}, right`]), count(found[`${known}, not right`])]));
}

function periodTable(data) {
  const names = Object.keys(data.results.periods);
  const columns = [...Array(data.results.periods.overall.length).keys()];
  const pick = (row, period) => browse({ user: "", period: String(period), kind: "question", status: row.label === "overall" ? "" : "wrong", failure: FAILURES.includes(row.name) ? row.name.replace("_failure", "") : "" });
  return heatMap(names.map((name) => ({ name, label: words(name), values: data.results.periods[name] })), columns,
    { corner: "period", caption: "At the end of each period; a cell opens its answers below.", pick });
}

function userTable(data) {
  const rows = data.users.map((user) => ({ label: user.name, id: user.id, values: user.overall.map((value) => ({ value, low: null, high: null })) }));
  return heatMap(rows, [...Array(data.results.periods.overall.length).keys()],
    { corner: "period", caption: "Share of right answers of each user; a cell opens its answers below.", pick: (row, period) => browse({ user: row.id, period: String(period), kind: "question", status: "", failure: "" }) });
}

function spendingTable(data) {
  const rows = Object.entries(data.results.spending).map(([name, used]) => [name, count(used.calls), count(used.input_tokens), count(used.output_tokens),
    used.nano_usd === null ? "unknown" : `$${(used.nano_usd / 1e9).toFixed(4)}`]);
  const costs = Object.entries(data.results.costs).map(([name, one]) => [words(name), shown(one, 4, "unknown")]);
  const lost = data.results.lost_writes ? el("p", {}, `${counted(data.results.lost_writes, "write")} to the memory failed twice and ${data.results.lost_writes === 1 ? "was" : "were"} lost.`) : null;
  return [table(["purpose", "calls", "input tokens", "output tokens", "cost"], rows), table(["for each answer", ""], costs), lost];
}

function fidelityText(found) {
  if (found.score === null) return "Every session consists of its opening query alone, so the simulated user said nothing of its own.";
  const kinds = Object.entries(found.breaches).map(([name, number]) => `${number} ${name}`).join(", ") || "none";
  return `Fidelity ${figure(found.score)}: of ${count(found.messages)} messages after the opening ones, ${count(found.kept_with_breach)} still tell a tracked value (${kinds}); ${count(found.asked_again)} were asked for again.`;
}

function groupTable(groups) {
  const rows = groups.map(({ by, value, scores, fact_recall, written_tokens, recalled_tokens }) => [`${words(by)} ${count(value)}`,
    ...[scores.memory, scores.none, scores.facts, scores.everything, scores.gain, scores.gain_share, fact_recall].map((one) => shown(one)), figure(written_tokens, 0), figure(recalled_tokens, 0)]);
  const curve = (by) => ["memory", "none", "facts", "everything"].map((name) => ({ label: name === "none" ? "no memory" : words(name), points: groups.filter((group) => group.by === by).map((group) => [group.value, group.scores[name]]) }));
  return [table(["", "S", "N", "O", "F", "S - N", "(S - N) / (O - N)", "fact recall", "tokens written", "tokens recalled"], rows),
    ...["length", "facts"].map((by) => lineChart(curve(by), { x: by === "length" ? "length in tokens" : "needed facts", y: "right", top: 1 }))];
}

function dialogueSections(data) {
  const results = data.results;
  section("probes", "State probes and answers", probeTable(results.probes_and_answers));
  section("periods", "By period", periodTable(data), userTable(data),
    lineChart(["overall", "memory", "upper_bound", "random"].map((name) => ({ label: words(name), points: points(results.periods[name]) })), { x: "period", y: "share", top: 1 }));
  section("failures", "Failures over the periods",
    lineChart(FAILURES.map((name) => ({ label: words(name), points: points(results.periods[name]) })), { x: "period", y: "share of answers" }));
  section("age", "By age and need", el("h3", {}, "By periods since the oldest needed value was told"),
    lineChart([{ label: "overall", points: grouped(results.by_age) }], { x: "periods since told", y: "overall", top: 1 }),
    table(["needed values", "overall"], Object.entries(results.by_required).map(([value, one]) => [value, shown(one)])));
  section("more", "More about the probes", scoreTable(Object.keys(results.metrics).filter((name) => !data.front.includes(name)), results.metrics, data));
}

function runPage(data) {
  const results = data.results, dialogues = Boolean(results.periods.overall);
  section("scores", "Scores", data.notes.map((note) => el("p", { class: "quiet" }, note)), scoreTable(data.front, results.metrics, data));
  if (results.isolated) section("isolated", "Isolated scores", isolatedTable(results.isolated));
  if (results.curve.length) section("budget", "Score against budget", curveChart(results.curve));
  if (results.isolated_by.length) section("lengths", "By length, and by needed facts", ...groupTable(results.isolated_by));
  section("baselines", "Baselines", scoreTable(Object.keys(results.baselines), results.baselines, data));
  if (dialogues) dialogueSections(data);
  section("took", "What it took", ...spendingTable(data), dialogues ? el("p", {}, fidelityText(results.fidelity)) : "");
  startBrowsing(data);
}
