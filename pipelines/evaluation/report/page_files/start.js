const DATA = read("data");
document.getElementById("top").append(el("h1", {}, DATA.title), el("p", { class: "quiet" }, DATA.subtitle),
  DATA.results ? runHero(DATA) : boardHero(DATA),
  DATA.facts.length ? el("details", {}, el("summary", {}, "How it was made"), facts(DATA.facts)) : "");
if (DATA.results) void runPage(DATA);
else boardPage(DATA);
