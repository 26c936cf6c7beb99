// One user's life: a lane for each variable with its values, ticks where a session told one, and what the memory held.
const HELD = {
  known: "the memory knew it", lost: "it had known it, and lost it",
  missed: "it has not known it so far", unread: "the probe could not be read",
};

// When within the life it was told, in periods; the beginning of its period where no session tells it.
function toldAt(told, name, period) {
  const session = told.periods[period].sessions.find((one) => one.exposed[name] === told.periods[period].state[name]);
  return session ? period + within(told, session, period) : period;
}

function within(told, session, period) {
  const time = (text) => Date.parse(text.replace(" ", "T"));
  const from = time(period ? told.periods[period - 1].end : told.periods[0].sessions[0].at), to = time(told.periods[period].end);
  return Math.min(0.9, Math.max(0.02, (time(session.at) - from) / (to - from || 1)));
}

function valuesOf(told, name) {
  const values = told.periods.map((period) => period.state[name]);
  const starts = [...values.keys()].filter((period) => period === 0 || values[period] !== values[period - 1]);
  return starts.map((period) => ({ period, value: values[period], from: toldAt(told, name, period) }));
}

// What the state probes of the end of each period say: {period, held}; none where there was no probe.
function heldOf(told, name, starts) {
  let known = false;
  return [...told.periods.keys()].flatMap((period) => {
    if (starts.some((one) => one.period === period)) known = false;
    const probes = told.answers.filter((answer) => answer.kind === "state" && answer.period === period && answer.item === name);
    if (!probes.length) return [];
    const right = probes.every((probe) => probe.status === "right");
    const held = right ? "known" : probes.some((probe) => probe.status === "unscored") ? "unread" : known ? "lost" : "missed";
    known = known || right;
    return [{ period, held }];
  });
}

function lane(told, name, user) {
  const number = told.periods.length, starts = valuesOf(told, name);
  const boxes = starts.map(({ value, from }, place) =>
    placed(el("span", { class: `value ${place % 2 ? "other" : ""}`, title: words(value) }, words(value)), from / number, (starts[place + 1]?.from ?? number) / number));
  const marks = heldOf(told, name, starts).map(({ period, held }) => {
    const label = `${words(name)}, end of period ${period}: ${HELD[held]}`;
    return placed(el("button", { type: "button", class: `held ${held}`, title: label, "aria-label": label, click: () => browse({ user, period: String(period), kind: "state", item: name, status: "", failure: "" }) }), (period + 0.94) / number);
  });
  return [el("div", { class: "name" }, words(name)), el("div", { class: "track" }, boxes, marks)];
}

function sessionLane(told) {
  const number = told.periods.length;
  const labels = told.periods.map((period, place) => placed(el("span", { class: "period", title: `ends ${period.end}` }, place), place / number, (place + 1) / number));
  const ticks = told.periods.flatMap((period, place) => period.sessions.map((session) => placed(el("span", { class: "tick", title: `${session.at} ${session.event}` }), (place + within(told, session, place)) / number)));
  return [el("div", { class: "name" }, "period, and its sessions"), el("div", { class: "track sessions" }, labels, ticks)];
}

function lanes(told, user) {
  const names = Object.keys(told.periods[0].state).sort((a, b) => valuesOf(told, b).length - valuesOf(told, a).length);
  const holder = el("div", { class: "bars lanes" }, sessionLane(told), names.flatMap((name) => lane(told, name, user)));
  holder.style.setProperty("--periods", told.periods.length);
  return holder;
}

async function lifeSection(data) {
  const holder = el("div", {});
  const draw = async (id) => {
    await openLives([id]);
    holder.replaceChildren(lanes(life(id), id));
  };
  const probed = data.kinds.includes("state");
  section("life", probed ? "A life, and what the memory kept of it" : "A life",
    el("p", { class: "quiet" }, `A lane is a variable, and a box a value, from the session that told it.${probed ? " A mark at a period's end says whether the memory knew the value then; it opens the probe below." : ""}`),
    el("form", {}, choice("life", "Life of", data.users.map((user) => [user.id, user.name]), (event) => draw(event.target.value))),
    probed ? el("ul", { class: "legend" }, Object.entries(HELD).map(([held, text]) => el("li", {}, el("span", { class: `swatch held ${held}` }), text))) : "", holder);
  await draw(data.users[0].id);
}
