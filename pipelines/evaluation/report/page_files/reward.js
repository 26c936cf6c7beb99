// What a reward model may be trusted with: the verdict, then every section with its sentences, tables and charts.
const DATA = read("data");
document.getElementById("top").append(el("h1", {}, DATA.title), el("p", { class: DATA.trusted ? "verdict" : "verdict no" }, DATA.verdict),
  el("p", { class: "quiet" }, DATA.subtitle));
for (const { key, title, blocks } of DATA.sections) section(key, title, ...blocks.map(drawBlock));
