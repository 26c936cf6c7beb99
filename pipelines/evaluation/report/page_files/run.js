// One run: what became of its answers, a life, charts; then every answer, memory and message, and all numbers.
function runHero(data) {
  const { metrics, baselines } = data.results;
  const random = baselines.random?.value ?? 0, bound = (baselines.upper_bound ?? baselines.everything)?.value ?? 1;
  const overall = scale(metrics.overall, { low: random, high: bound, left: "random", right: "upper bound" });
  const memory = metrics.memory && metrics.memory.value !== null ? [[shown(metrics.memory), "memory: from no better than chance, 0, to perfect, 1", scale(metrics.memory, { low: 0, high: 1, left: "chance", right: "perfect" })]] : [];
  const gain = data.results.isolated?.gain && data.results.isolated.gain.value !== null ? [[shown(data.results.isolated.gain), "gain over no memory, with the same reasoner"]] : [];
  const unscored = metrics.unscored?.value ?? 0;
  return hero([[`${shown(metrics.overall)}${lossMark(data.results)}`, "overall: answers that are right", overall], ...memory, ...gain,
    [percent(unscored), "of the answers could not be scored, and count as wrong", null, unscored > data.red ? "bad" : null],
    [count(data.results.users), plural(data.results.users, data.noun)]]);
}

// The result in one sentence: what is right, what the memory brings, where most of the rest is lost.
function verdict({ label, results: { metrics, isolated } }) {
  const right = metrics.overall?.value;
  if (right === null || right === undefined) return `${label} has no score.`;
  const gain = isolated?.gain?.value;
  const brings = gain === null || gain === undefined ? "" : `, ${Math.abs(100 * gain).toFixed(1)} points ${gain < 0 ? "below" : "above"} no memory`;
  const lost = { not_written: "what was never written", not_recalled: "what is not recalled", misread: "what is misread", not_used: "what is known and not used", unscored: "answers that could not be read" };
  const [word, share] = outcomesOf(metrics).slice(1).sort(([, one], [, other]) => other - one)[0];
  const most = share > 0 && lost[word] ? ` Most is lost by ${lost[word]}: ${percent(share)} of all answers.` : "";
  return `${label} answers ${percent(right)} rightly${brings}.${most}`;
}

function drawCell(cell, { digits, missing, whiskers }) {
  if (typeof cell === "string") return cell;
  return whiskers ? [shown(cell, digits, missing), whisker(cell)] : shown(cell, digits, missing);
}

const drawTable = (block) => table(block.head, block.rows.map((row) => row.map((cell) => drawCell(cell, block))));
const drawChart = (block) => lineChart(Object.entries(block.lines).map(([label, points]) => ({ label, points })), block);
const drawBlock = (block) => (typeof block === "string" ? el("p", { class: "quiet" }, block) : block.rows ? drawTable(block) : drawChart(block));

function periodTable(metrics) {
  const rows = Object.entries(metrics).map(([name, values]) => ({ name, label: words(name), values }));
  const columns = [...rows[0].values.keys()];
  const pick = (row, period) => browse({ user: "", period: String(period), kind: "question", status: row.label === "overall" ? "" : "wrong", failure: FAILURES.includes(row.name) ? row.name : "" });
  return heatMap(rows, columns, { corner: "period", caption: "At the end of each period; a cell opens its answers below.", pick });
}

function userTable(data) {
  const rows = data.users.map((user) => ({ label: user.name, id: user.id, values: user.overall.map((value) => ({ value, low: null, high: null })) }));
  const map = heatMap(rows, [...Array(data.periods).keys()],
    { corner: "period", caption: "Share of right answers of each user; a cell opens its answers below.", pick: (row, period) => browse({ user: row.id, period: String(period), kind: "question", status: "", failure: "" }) });
  return rows.length > MOST_ROWS ? el("details", {}, el("summary", {}, `Each of ${counted(rows.length, data.noun)}`), map) : map;
}

function resultSection(data) {
  const { metrics, isolated } = data.results, label = data.label;
  section("result", "What became of each answer", el("p", { class: "verdict same" }, verdict(data)),
    outcomeBars([{ label, metrics }]), isolated ? rangeLines([{ label, ...isolated }]) : null,
    data.notes.map((note) => el("p", { class: "quiet" }, note)));
}

function chartSection(data) {
  const charts = data.sections.flatMap(({ title, blocks }) => {
    const own = blocks.filter((block) => block.lines);
    return own.map((block) => el("div", {}, el("h3", {}, own.length > 1 ? `By ${block.x}` : title), drawChart(block)));
  });
  if (charts.length) section("charts", "What the score depends on", el("div", { class: "charts" }, charts));
}

function numberSection(data) {
  const folded = data.sections.map(({ key, title, blocks }) => [key, title, blocks.filter((block) => typeof block === "string" || block.rows)]).filter(([, , blocks]) => blocks.length);
  section("numbers", "All numbers", folded.map(([key, title, blocks]) => el("details", { id: key }, el("summary", {}, title),
    blocks.map((block) => (block.rows ? drawTable(block) : el("p", {}, block))))));
}

async function runPage(data) {
  PAGE = data;
  resultSection(data);
  const series = data.sections.flatMap(({ blocks }) => blocks).find((block) => block.metrics);
  const drawn = series ? lifeSection(data) : null;
  chartSection(data);
  if (series) section("periods", "By period and user", periodTable(series.metrics), userTable(data));
  const listed = startBrowsing(data);
  numberSection(data);
  await Promise.all([drawn, listed]);
}
