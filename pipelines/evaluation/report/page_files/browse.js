// Every answer, with its options, memories and dialogue. A user's block is unpacked when it is first asked for.
const MOST_ROWS = 200;
const opened = new Map();
const TEXTS = ["expected", "given", "reply", "sent", "reason"];
let PAGE = null;
let latest = 0; // of the lists that were asked for: only the last is shown

const life = (id) => opened.get(id);

async function openLives(ids) {
  await Promise.all(ids.filter((id) => !opened.has(id)).map(async (id) => {
    const told = await unpacked(`user-${PAGE.users.findIndex((user) => user.id === id)}`);
    const text = (number) => told.texts[number].map((line) => told.lines[line]).join("\n");
    told.answers = (told.columns.period ?? []).map((_, place) => {
      const answer = Object.fromEntries(Object.entries(told.columns).map(([name, column]) => [name, column[place]]));
      for (const name of TEXTS) answer[name] = text(answer[name]);
      return { ...answer, user: id, memories: answer.memories.map(text) };
    });
    opened.set(id, told);
  }));
}

const form = () => document.getElementById("filters");
const field = (name) => form().elements.namedItem(name);
const wanted = () => Object.fromEntries(new FormData(form()));

async function browse(filters) {
  for (const [name, value] of Object.entries({ item: "", words: "", ...filters })) field(name).value = value;
  await showList();
  document.getElementById("browse").scrollIntoView();
  document.querySelector(".list button")?.focus({ preventScroll: true });
}

function matches(answer, filters) {
  const needle = filters.words.trim().toLowerCase();
  return ["period", "kind", "item", "status", "failure"].every((name) => filters[name] === "" || String(answer[name]) === filters[name])
    && (!needle || [asked(answer), answer.reply, answer.given, ...answer.memories].some((text) => text.toLowerCase().includes(needle)));
}

function asked(answer) {
  const question = life(answer.user).questions.find((one) => one.id === answer.item);
  return question ? question.query : words(answer.item);
}

async function showList({ link = true } = {}) {
  const filters = wanted(), mine = ++latest;
  const users = filters.user ? [filters.user] : PAGE.users.map((user) => user.id);
  await openLives(users);
  if (mine !== latest) return;
  const found = users.flatMap((id) => life(id).answers.filter((answer) => matches(answer, filters)));
  const body = el("tbody", {});
  const more = el("button", { type: "button", class: "plain", click: () => add() }, "Show more");
  let shownRows = 0;
  const add = () => {
    body.append(...found.slice(shownRows, shownRows + MOST_ROWS).map(listRow));
    shownRows = Math.min(found.length, shownRows + MOST_ROWS);
    more.hidden = shownRows >= found.length;
  };
  add();
  document.getElementById("found").textContent = counted(found.length, "answer");
  document.getElementById("list").replaceChildren(
    el("table", {}, el("thead", {}, el("tr", {}, [PAGE.noun, PAGE.place, "asked", "outcome"].map((name) => el("th", { scope: "col" }, name)))), body), more);
  if (link) location.replace(`#${new URLSearchParams(Object.entries(filters).filter(([, value]) => value))}`);
  if (found.length) showDetail(found[0], body.firstElementChild);
  else document.getElementById("detail").replaceChildren(el("p", { class: "quiet" }, "No answer fits these filters."));
}

function listRow(answer) {
  const row = el("tr", {}, el("td", {}, PAGE.users.find((user) => user.id === answer.user).name), el("td", {}, answer.period),
    el("td", {}, el("button", { type: "button", click: () => showDetail(answer, row) }, asked(answer))),
    el("td", {}, el("span", { class: answer.status }, answer.status), answer.failure ? ` (${words(answer.failure)})` : ""));
  return row;
}

function showDetail(answer, row) {
  document.querySelectorAll(".list tr[aria-current]").forEach((one) => one.removeAttribute("aria-current"));
  row.setAttribute("aria-current", "true");
  const told = life(answer.user), question = told.questions.find((one) => one.id === answer.item);
  const state = told.periods[answer.period].state;
  document.getElementById("detail").replaceChildren(
    el("h3", {}, asked(answer)),
    facts([["asked", `${PAGE.users.find((user) => user.id === answer.user).name}, end of ${PAGE.place} ${answer.period}, ${words(answer.kind)}`],
      ["outcome", el("span", { class: answer.status }, answer.status)],
      ...(answer.failure ? [["lost by", words(answer.failure)]] : []),
      ...(question?.options.length ? question.required.map((name) => [words(name), state[name]]) : [["right", answer.expected], ["given", answer.given || "-"]]),
      ...(PAGE.place === "period" ? [["age", `${counted(answer.age, "period")} since told`]] : []), ["tries", String(answer.tries)], ...evidenceOf(answer), ...(answer.reason ? [["not read", answer.reason]] : [])]),
    question?.options.length ? optionList(question, answer) : "",
    el("details", {}, el("summary", {}, "Reply, word for word"), el("div", { class: "text" }, answer.reply)),
    answer.memories.length ? el("details", { open: true }, el("summary", {}, `${counted(answer.memories.length, "memory")} laid beside it`), el("ul", {}, answer.memories.map((line) => el("li", { class: "text" }, line)))) : "",
    neededTexts(told, answer),
    answer.sent ? el("details", {}, el("summary", {}, "What was asked, word for word"), el("div", { class: "text" }, answer.sent)) : "",
    conversation(told, answer.period));
}

// The share of the messages with the needed values that the memory gave back, word for word.
function evidenceOf(answer) {
  const [needed, recalled, all] = answer.evidence;
  return needed ? [["evidence", `${count(recalled)} of ${count(needed)} recalled word for word, among ${count(all)}`]] : [];
}

// They are what the reasoner was given in the condition of the needed facts.
function neededTexts(told, answer) {
  const same = (one) => one.kind === "facts" && one.period === answer.period && one.item === answer.item;
  const facts = answer.evidence[0] ? told.answers.find(same) : null;
  return facts ? el("details", {}, el("summary", {}, "What told the needed values"), el("ul", {}, facts.memories.map((line) => el("li", { class: "text" }, line)))) : "";
}

// What the words in the column of outcomes mean, by the table of metrics; none of a word that cannot occur.
function outcomeWords(data) {
  const lost = [...FAILURES, "undiagnosed"].filter((name) => typeof data.results.metrics[name]?.value === "number");
  const meaning = (name) => data.meanings[name].replace(/^wrong, (and|although) /, "$1 ").replace(/^and /, "");
  const told = [...lost.map((name) => [`wrong (${words(name)})`, meaning(name)]),
    ["unscored", "the answer could not be read, and counts as wrong"]];
  return el("p", { id: "outcomes", class: "quiet" }, "Outcomes: ", told.flatMap(([word, what], place) => [place ? "; " : "", el("strong", {}, word), `: ${what}`]), ".");
}

function optionList(question, answer) {
  return el("ol", { class: "options" }, question.options.map((option) => el("li", {}, option.text,
    option.id === answer.expected ? el("span", { class: "mark" }, "right") : null,
    option.id === answer.given && answer.given !== answer.expected ? el("span", { class: "mark given" }, "given") : null,
    el("div", { class: "who" }, option.state.map(words).join(", ")))));
}

function conversation(told, period) {
  const holder = el("div", {});
  const draw = (chosen) => holder.replaceChildren(...told.periods[chosen].sessions.flatMap((session) => sessionTurns(session)));
  const select = choice("dialogue", `${PAGE.perceived} of ${PAGE.place}`, told.periods.map((one, place) => [place, one.end ? `${place} (to ${one.end})` : place]), (event) => draw(Number(event.target.value)));
  select.lastElementChild.value = String(period);
  draw(period);
  return el("details", {}, el("summary", {}, PAGE.perceived), select, holder);
}

function sessionTurns(session) {
  const exposed = Object.entries(session.exposed).map(([name, value]) => `${words(name)}: ${words(value)}`).join("; ");
  const tells = exposed ? `Tells ${exposed}.` : "";
  return [el("h3", {}, session.at), el("p", { class: "quiet" }, `${session.event} ${tells}`.trim()),
    ...session.turns.flatMap((turn) => [
      el("div", { class: "turn user" }, el("div", { class: "who" }, turn.breaches.length ? `user, gives away: ${turn.breaches.join(", ")}` : "user"), el("div", { class: "text" }, turn.message)),
      el("div", { class: "turn assistant" }, el("div", { class: "who" }, "assistant"), el("div", { class: "text" }, turn.reply))])];
}

async function startBrowsing(data) {
  const values = (list, all) => [["", all], ...list.map((value) => [value, words(String(value))])];
  const change = () => showList();
  section("browse", "Every answer",
    el("form", { id: "filters", submit: (event) => event.preventDefault() },
      choice("user", titled(data.noun), [["", `all ${data.noun}s`], ...data.users.map((user) => [user.id, user.name])], change),
      choice("period", titled(data.place), values([...Array(data.periods).keys()], `all ${data.place}s`), change),
      choice("kind", "Asked", values(data.kinds, "everything"), change),
      choice("item", "Question or variable", values(data.items, "all"), change),
      choice("status", "Outcome", values(["right", "wrong", "unknown", "unscored"], "any"), change),
      choice("failure", "Lost by", values([...FAILURES, "undiagnosed"], "any or nothing"), change),
      el("label", {}, "Words", el("input", { name: "words", type: "search", change }))),
    outcomeWords(data),
    el("p", { id: "found", class: "quiet", role: "status" }),
    el("div", { class: "browse" }, el("div", { id: "list", class: "list" }), el("div", { id: "detail", class: "detail" })));
  const linked = new URLSearchParams(location.hash.slice(1));
  field("kind").value = linked.get("kind") ?? "question";
  for (const [name, value] of linked) if (field(name)) field(name).value = value;
  if (!linked.has("user") && !linked.has("period")) field("user").value = data.users[0].id;
  const jump = location.hash.includes("=");
  await showList({ link: false });
  if (jump) document.getElementById("browse").scrollIntoView();
}
