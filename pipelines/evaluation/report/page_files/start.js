const DATA = read("data");
document.getElementById("top").append(el("h1", {}, DATA.title), el("p", { class: "soft" }, DATA.subtitle), facts(DATA.facts));
if (DATA.results) runPage(DATA);
else boardPage(DATA);
