// Self-evolution: curves over the cycles, what was learned and what leaked, and every policy as a diff.
const CURVES = [["memory", "normalized memory score"], ["factual_recall", "memory factual recall"]];
const LOST = ["write_failure", "read_failure", "utilization_failure"];
const EXPLAINED = {
  seen: "questions that the feedback tells, of users who learn", new_questions: "held-out questions of the same users",
  new_users: "users whose answers no feedback tells",
};
const feedbacksOf = (split) => Object.keys(split.scores);

function curves(data, split) {
  const series = (metric) => feedbacksOf(split).map((feedback) => ({
    label: feedback, points: split.scores[feedback][metric].map((estimate, cycle) => [cycle, estimate]) }));
  const chart = (metric, label) => el("div", {}, el("h3", {}, label), lineChart(series(metric), { x: "cycle (period)", y: label }));
  return [el("div", { class: "charts" }, CURVES.map(([metric, label]) => chart(metric, label))),
    el("h3", {}, "Where wrong answers were lost"), el("div", { class: "charts" }, LOST.map((metric) => chart(metric, words(metric))))];
}

function curveSection(data) {
  const every = data.protocols.flatMap((protocol) => protocol.splits.map((split) => ({ protocol, split })));
  const holder = el("div", {}), note = el("p", { class: "quiet" });
  const draw = (place) => {
    const { protocol, split } = every[place];
    note.textContent = protocol.name === "paper" ? protocol.words : `${protocol.words} Here: ${EXPLAINED[split.name]}.`;
    holder.replaceChildren(...curves(data, split));
  };
  draw(0);
  const options = every.map(({ protocol, split }, place) => [place, protocol.name === "paper" ? "paper's protocol" : `held-out protocol: ${words(split.name)}`]);
  return [el("form", {}, choice("split", "Scored on", options, (event) => draw(Number(event.target.value)))), note, holder];
}

const MARKS = { "+": "new", "-": "old" };
const diffOf = (lines) => el("div", { class: "diff" }, lines.map((line) => el("div", { class: MARKS[line[0]] }, line)));

function stepOf(step, history) {
  const text = (number) => history.texts[number];
  const head = `After period ${step.cycle}: ${step.outcome}`;
  const users = step.feedback.map((summary, place) => feedbackOf(summary, text, step.feedback.length > 1 ? `User ${place + 1}` : ""));
  return el("details", { open: step.outcome !== "unchanged" }, el("summary", {}, head),
    step.problem ? el("p", { class: "wrong" }, `The old section stays. ${step.problem}`) : null,
    step.changes.length ? el("ul", {}, step.changes.map((change) => el("li", {}, change))) : null,
    diffOf(step.diff),
    el("details", {}, el("summary", {}, "Feedback that it was made from"), users.length ? users : el("p", { class: "quiet" }, "None.")),
    el("details", {}, el("summary", {}, `${counted(step.replies.length, "reply")}, word for word`), step.replies.map((reply) => el("div", { class: "turn text" }, reply))));
}

function feedbackOf(summary, text, title) {
  const told = Object.entries(summary.updates ?? {}).map(([name, value]) => `${words(name)}: ${words(value)}`);
  return el("div", {}, title ? el("h3", {}, title) : null,
    told.length ? el("p", {}, `Let be known: ${told.join("; ")}.`) : null,
    summary.asked.map((one) => el("div", { class: "turn" }, el("div", { class: "text" }, text(one.question)),
      one.truth === undefined ? null : el("p", {}, "given ", el("span", { class: one.given === one.truth ? "right" : "wrong" }, one.given), `, right ${one.truth}`),
      one.memories === undefined ? null : el("details", {}, el("summary", {}, counted(one.memories.length, "memory")), el("ul", {}, one.memories.map((number) => el("li", { class: "text" }, text(number))))))));
}

function historySection(data) {
  if (!data.learners.length) return [el("p", {}, "No condition with feedback was lived, so no policy changed."), diffOf(data.policy.split("\n"))];
  const holder = el("div", {});
  const draw = (place) => {
    const history = read(data.learners[place].block);
    const rows = Object.entries(history.mentions).map(([name, shares]) => ({ label: words(name), values: shares.map((value) => ({ value, low: null, high: null })) }));
    holder.replaceChildren(
      el("h3", {}, "How much of each variable's name stands in one line of the policy"),
      el("p", { class: "quiet" }, "1: the policy names it outright; 0: no line has a word of it (after the paper's Table 5)."),
      el("div", { class: "tall" }, heatMap(rows, [...Array(data.cycles).keys()], { corner: "period", caption: "in force during" })),
      el("h3", {}, "The policy after each cycle"), ...history.steps.map((step) => stepOf(step, history)));
  };
  draw(0);
  const options = data.learners.map((one, place) => [place, `${one.arm}: ${one.label}`]);
  return [el("form", {}, choice("learner", "Whose policy", options, (event) => draw(Number(event.target.value)))), holder];
}

const DATA = read("data");
document.getElementById("top").append(el("h1", {}, DATA.title), el("p", { class: "quiet" }, DATA.subtitle), facts(DATA.facts));
section("curve", "Over the cycles", ...curveSection(DATA));
for (const { key, title, blocks } of DATA.sections) section(key, title, ...blocks.map(drawBlock));
section("policies", "The policies", ...historySection(DATA));
