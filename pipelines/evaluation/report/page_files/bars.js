// What became of each answer, and the score between no memory and a perfect one: boxes of HTML, whose texts never shrink.
const FAILURES = ["not_written", "not_recalled", "misread", "not_used"];
const OUTCOMES = [["overall", "right"], ...[...FAILURES, "undiagnosed", "unscored"].map((name) => [name, name])];
const LEAST_LABELLED = 0.09; // of a bar: a narrower part has no room for its number

// `from` and `to`: shares of the box that it is put in.
function placed(node, from, to = null) {
  node.style.left = `${100 * from}%`;
  if (to !== null) node.style.width = `${100 * (to - from)}%`;
  return node;
}

// The shares of answers by outcome, which add up to one: what is lost in ways that nobody can tell apart is wrong.
function outcomesOf(metrics) {
  const parts = OUTCOMES.map(([name, word]) => [word, metrics[name]?.value ?? 0]);
  const rest = 1 - parts.reduce((sum, [, share]) => sum + share, 0);
  return [...parts, ["wrong", rest > 1e-5 ? rest : 0]];
}

// rows: [{label, metrics}]
function outcomeBars(rows) {
  const told = (parts) => parts.filter(([, share]) => share > 0).map(([word, share]) => `${words(word)} ${figure(share)}`).join(", ");
  const bar = (parts) => el("div", { class: "bar", role: "img", "aria-label": told(parts), title: told(parts) }, parts.filter(([, share]) => share > 0).map(([word, share]) => {
    const part = el("span", { class: `part ${word}` }, share < LEAST_LABELLED ? "" : figure(share, 2));
    part.style.width = `${100 * share}%`;
    return part;
  }));
  const every = rows.map((row) => outcomesOf(row.metrics));
  const named = every[0].map(([word]) => word).filter((word) => every.some((parts) => parts.some(([one, share]) => one === word && share > 0)));
  return el("div", { class: "bars" }, rows.map((row, place) => [el("div", { class: "name" }, row.label), bar(every[place])]).flat(),
    el("ul", { class: "legend" }, named.map((word) => el("li", {}, el("span", { class: `swatch ${word}` }), rows.length > 1 ? words(word) : `${words(word)} ${figure(every[0].find(([one]) => one === word)[1])}`))));
}

// rows: [{label, none, memory, facts}]: estimates between 0 and 1.
function rangeLines(rows) {
  const marks = [["none", "N"], ["memory", "S"], ["facts", "O"]];
  const found = rows.filter((row) => row.memory && row.memory.value !== null);
  const line = (row) => el("div", { class: "range", "aria-hidden": "true" }, marks.filter(([name]) => row[name]?.value !== null && row[name]).map(([name, letter]) => [
    row[name].low === null ? null : placed(el("span", { class: `interval ${name}` }), row[name].low, row[name].high),
    placed(el("span", { class: `dot ${name}`, title: `${letter}: ${shown(row[name])}` }), row[name].value)]).flat());
  if (!found.length) return "";
  return el("div", {}, el("h3", {}, "Between no memory and a perfect one"),
    el("div", { class: "bars" }, found.map((row) => [
      el("div", { class: "name" }, row.label), el("div", {}, line(row), el("div", { class: "figures" }, marks.map(([name, letter]) => el("span", {}, `${letter} ${shown(row[name])}`))))]).flat(),
      el("ul", { class: "legend" }, [["none", "N: no memory"], ["memory", "S: this memory"], ["facts", "O: only the needed messages"]].map(([name, text]) => el("li", {}, el("span", { class: `swatch ${name}` }), text)))));
}
