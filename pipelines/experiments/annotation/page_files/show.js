// Everything shown goes through textContent; no text of an item is ever parsed as markup.
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}
const SVG = "http://www.w3.org/2000/svg";
const words = (name) => name.replaceAll("_", " ");
const TASKS = DATA.tasks;
const given = (task) => ANSWERS[task.item]?.value || "";
const open = () => TASKS.findIndex((task) => !given(task));
let at = 0;

function header() {
  const done = TASKS.filter(given).length;
  const bar = document.createElementNS(SVG, "svg");
  const rect = document.createElementNS(SVG, "rect");
  rect.setAttribute("height", "4");
  rect.setAttribute("width", `${(100 * done) / TASKS.length}%`);
  bar.append(rect);
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", `${done} of ${TASKS.length} answered`);
  document.getElementById("top").replaceChildren(
    el("div", { class: "bar" },
      el("h1", {}, DATA.title),
      el("span", { class: "quiet" }, DATA.annotator),
      el("span", { class: "grow" }),
      el("span", { class: state.lost ? "state lost quiet" : "state quiet", role: "status" }, state.text),
      el("span", { class: "quiet", id: "count" }, `${done} of ${TASKS.length} answered`),
      el("button", { click: download, title: "Save all answers as a file" }, "Export")),
    el("div", { class: "progress" }, bar));
}
told = header;

function passage(one) {
  return el("div", { class: `turn ${one.speaker || "plain"}` },
    one.speaker ? el("span", { class: "who" }, one.speaker) : null, el("div", { class: "text" }, one.text));
}

function labels(task) {
  const buttons = task.labels.map((label, place) => el("button", {
    role: "radio", "aria-checked": given(task) === label.value ? "true" : "false", "data-value": label.value,
    click: () => choose(task, label.value),
  }, el("kbd", {}, key(task, place)), el("span", { class: "text" }, label.text)));
  return el("div", { class: "labels", role: "radiogroup", "aria-label": DATA.title }, buttons);
}

// Ratings have their own digit as key, options their place.
const key = (task, place) => (/^\d$/.test(task.labels[place].value) ? task.labels[place].value : task.labels[place].value === "none" ? "0" : String(place + 1));

function note(task) {
  const field = el("textarea", { id: "note", rows: "1", "aria-label": "Note", maxlength: "4000", placeholder: "A note, if something is odd",
    input: () => answer(task.item, { note: field.value }) });
  field.value = ANSWERS[task.item]?.note || "";
  return field;
}

function render() {
  const task = TASKS[at];
  const place = TASKS.filter((one) => one.group === task.group);
  const part = place.length > 1 ? `, ${place.indexOf(task) + 1} of ${place.length} on this conversation` : "";
  const finished = open() < 0;
  const parts = [
    el("p", { class: "guide" }, DATA.task),
    finished ? el("section", { class: "done", id: "done" }, el("strong", {}, "All items are answered. "),
      SERVED ? "Nothing more is needed; answers can still be changed." : "Press Export, and hand the file to whoever runs the study.") : null,
    el("section", {}, el("h2", {}, `Item ${at + 1} of ${TASKS.length}${part}`), task.passages.map(passage)),
    task.facts.length ? el("section", {}, el("dl", {}, task.facts.flatMap((fact) => [el("dt", {}, words(fact.name)), el("dd", { class: "text" }, words(fact.value))]))) : null,
    el("section", {}, labels(task)),
    note(task),
    el("p", { class: "nav" },
      el("button", { click: () => move(at - 1), disabled: at === 0 }, "Back"),
      el("button", { click: () => move(at + 1), disabled: at === TASKS.length - 1 }, "Next"),
      el("span", { class: "grow" }),
      el("button", { click: () => move(open()), disabled: finished }, "Next unanswered")),
  ];
  document.getElementById("main").replaceChildren(...parts.filter((part) => part !== null));
  header();
}

function move(place) {
  if (place < 0 || place >= TASKS.length) return;
  const group = TASKS[at].group;
  at = place;
  render();
  // Whoever goes on with the same conversation need not read it again.
  if (TASKS[at].group !== group) window.scrollTo(0, 0);
}

function choose(task, value) {
  const before = given(task);
  answer(task.item, { value });
  if (before || at === TASKS.length - 1) {
    if (!before && open() >= 0) move(open());
    else render();
  } else move(at + 1);
}

function download() {
  const file = new Blob([JSON.stringify(exported(), null, 1)], { type: "application/json" });
  const link = el("a", { href: URL.createObjectURL(file), download: `${DATA.sheet.study}-${DATA.annotator}.json` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.id === "note") {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const task = TASKS[at];
  const place = task.labels.findIndex((_, one) => key(task, one) === event.key);
  const moves = { ArrowRight: () => move(at + 1), ArrowLeft: () => move(at - 1), u: () => move(open()), n: () => document.getElementById("note").focus(), e: download };
  const act = place >= 0 ? () => choose(task, task.labels[place].value) : moves[event.key];
  if (act) {
    event.preventDefault();
    act();
  }
}

async function begin() {
  await recall();
  at = Math.max(0, open());
  render();
  const keys = [["digits", "answer"], ["\u2190 \u2192", "back, next"], ["u", "next unanswered"], ["n", "note"], ["Esc", "leave the note"], ["e", "export"]];
  document.getElementById("keys").append(...keys.map(([name, does]) => el("span", {}, el("kbd", {}, name), ` ${does}`)));
  document.addEventListener("keydown", pressed);
}
begin();
