// Several runs: leaderboard, heat map, failures, ages, differences.
const points = (list) => list.map((estimate, place) => [place, estimate]);
const grouped = (groups) => Object.entries(groups).map(([value, estimate]) => [Number(value), estimate]);

// Memories that are references, not rivals: they keep nothing, or everything.
const REFERENCES = ["none", "full-history"];
const CONDITIONS = [["no_memory", "N: no memory"], ["needed_facts", "O: needed messages"], ["everything", "F: full history"]];
const LINE = "from 0 to 1"; // the column with the score's interval as a line
const LONG = 12; // lines of a table that is folded
const LABEL_ROOM = 0.06; // of the score: what a label of a line is high
const rivals = (data) => data.runs.filter((run) => !REFERENCES.includes(run.kind));
const linked = (run) => (run.page ? el("a", { href: run.page }, run.label) : run.label);

const prices = (run) => ["memory", "reasoner"].map((who) => shown(run.costs[`${who}_usd_per_1000_answers`], 4, "unknown"));
// All that a thousand answers take; nothing is known where a part is not.
function wholePrice(run) {
  const parts = ["memory", "reasoner"].map((who) => run.costs[`${who}_usd_per_1000_answers`].value);
  return parts.includes(null) ? null : parts[0] + parts[1];
}

function boardTable(data, runs) {
  const scores = data.metric === "memory" ? ["memory", LINE, "overall"] : ["overall", LINE];
  const head = ["memory system", "group", "mode", ...scores, "gain over none", "unscored", "tokens/answer", "memory: $/1000 answers", "reasoner: $/1000"];
  const rows = runs.map((run) => [
    linked(run), run.group, run.mode,
    ...scores.map((name) => name === LINE ? whisker(run.metrics[data.metric]) : `${shown(run.metrics[name])}${lossMark(run)}`),
    shown(run.isolated?.gain), el("span", { class: run.unscored > data.red ? "bad" : "good" }, percent(run.unscored)),
    figure(run.tokens, 0), ...prices(run),
  ]);
  return sortable(table(head, rows, "The best memory first; a column's name sorts by it. Unscored answers count as wrong; with more than a tenth there is no group."));
}

function referenceTable(data, references) {
  const runs = references.map((run) => [linked(run), "a run", shown(run.metrics.overall), whisker(run.metrics.overall)]);
  return table(["reference", "is", "overall", LINE], [...runs, ...data.baselines.map((one) => [one.label, "a baseline", shown(one.estimate), whisker(one.estimate)])]);
}

// Overall against what an answer takes; N, O and F are lines.
function scatters(data) {
  const ends = Object.fromEntries(data.baselines.map((one) => [one.name, one.estimate.value]));
  const references = [];
  for (const [name, label] of CONDITIONS.filter(([one]) => typeof ends[one] === "number").sort(([a], [b]) => ends[b] - ends[a])) {
    // Where lines lie on each other, they share a label.
    const near = references.find(({ value }) => Math.abs(value - ends[name]) < LABEL_ROOM);
    if (near) near.label += `, ${label}`;
    else references.push({ label, value: ends[name] });
  }
  const takes = [["tokens sent for an answer", (run) => run.tokens], ["$ for 1000 answers, memory and reasoner", wholePrice]];
  const drawn = takes.map(([x, of]) => [x, rivals(data).filter((run) => of(run)).map((run) => ({ label: run.label, points: [[of(run), run.metrics.overall]] }))]).filter(([, series]) => series.length);
  return el("div", { class: "charts" }, drawn.map(([x, series]) => el("div", {}, el("h3", {}, `Score against ${x}`), lineChart(series, { x, y: "overall", scatter: true, references }))));
}

function lossTable(data) {
  return table(["memory system", ...data.columns.map(words)], data.runs.map((run) => [run.label, ...data.columns.map((name) => shown(run.metrics[name]))]));
}

function priceTable(data) {
  return table(["memory system", "tokens/answer", "memory: $/1000 answers", "reasoner: $/1000", "memory: seconds/answer", "reasoner: seconds", "lost or repeated"], data.runs.map((run) =>
    [run.label, figure(run.tokens, 0), ...prices(run), run.memory_seconds === null ? "unknown" : figure(run.memory_seconds, 2), shown(run.seconds, 2, "unknown"), run.losses || "-"]));
}

function boardHero(data) {
  const runs = rivals(data).length ? rivals(data) : data.runs, [best] = runs, first = runs.filter((run) => run.group.includes("A")).length;
  const name = data.metric, ends = Object.fromEntries(data.baselines.map((one) => [one.name, one.estimate.value]));
  const place = first > 1 ? [counted(first, "memory"), "cannot be told from the best"] : [best.label, runs.length > 1 ? "stands first" : "the only rival"];
  const low = name === "memory" ? 0 : ends.random ?? 0, high = name === "memory" ? 1 : ends.upper_bound ?? 1;
  const worst = Math.max(...data.runs.map((run) => run.unscored));
  return hero([place,
    [`${shown(best.metrics[name])}${lossMark(best)}`, `its ${name} score`, scale(best.metrics[name], { low, high, left: name === "memory" ? "chance" : "random", right: name === "memory" ? "perfect" : "upper bound" })],
    [percent(worst), "unscored answers, where most are", null, worst > data.red ? "bad" : null],
    [count(data.users), `${plural(data.users, data.noun)} in common`]]);
}

// Without the runs that have no such number, as no memory has none of a memory's failures.
function periodLines(data, name) {
  const series = data.runs.map((run, place) => ({ label: run.label, points: points(run.periods[name]), place }));
  return lineChart(series.filter((one) => one.points.some(([, estimate]) => estimate.value !== null)), { x: "period", y: words(name) });
}

function periodSection(data) {
  const names = Object.keys(data.runs[0].periods);
  const holder = el("div", {});
  const draw = (name) => {
    const longest = Math.max(...data.runs.map((run) => run.periods[name].length));
    holder.replaceChildren(
      heatMap(data.runs.map((run) => ({ label: run.label, values: run.periods[name] })), [...Array(longest).keys()], { corner: "period", caption: `${words(name)} at the end of each period` }),
      periodLines(data, name));
  };
  draw("memory");
  return [el("form", {}, choice("metric", "Shown", ["memory", ...names.filter((name) => name !== "memory")].map((name) => [name, words(name)]), (event) => draw(event.target.value))), holder];
}

function dialogueBoards(data) {
  section("periods", "By period", ...periodSection(data));
  section("failures", "Failures over the periods", el("div", { class: "charts" }, FAILURES.map((name) => el("div", {}, el("h3", {}, words(name)), periodLines(data, name)))));
  section("age", "By age of the needed value", el("p", { class: "quiet" }, "Share of right answers by periods since the oldest value that the question needs was told."),
    lineChart(data.runs.map((run) => ({ label: run.label, points: grouped(run.by_age) })), { x: "periods since told", y: "overall" }));
}

const folded = (block) => (block.rows?.length > LONG ? el("details", {}, el("summary", {}, counted(block.rows.length, "line")), drawTable(block)) : drawBlock(block));

function boardPage(data) {
  const runs = rivals(data), references = data.runs.filter((run) => !runs.includes(run));
  section("losses", "What became of each answer", el("div", { class: "charts" },
    outcomeBars(data.runs), rangeLines(data.runs.map((run) => ({ label: run.label, ...run.isolated })))));
  section("leaderboard", "Leaderboard", data.notes.map((note) => el("p", { class: "quiet" }, note)),
    runs.length ? boardTable(data, runs) : null, el("h3", {}, "References, which are no rivals"), referenceTable(data, references));
  section("price", "What an answer takes", scatters(data), el("details", {}, el("summary", {}, "Tokens, money and seconds"), priceTable(data)));
  if (data.columns.length) section("stages", "Where answers are lost", el("details", {}, el("summary", {}, "By failure, with what was recalled"), lossTable(data)));
  if (data.runs[0].periods.overall) dialogueBoards(data);
  for (const { key, title, blocks } of data.sections) section(key, title, ...blocks.map(folded));
}
