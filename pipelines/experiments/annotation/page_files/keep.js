"use strict";
// Answers are in this browser before anything else happens, and then on the server where the page came from one.
const DATA = JSON.parse(document.getElementById("data").textContent);
const PLACE = `amemgym-annotation ${DATA.study_digest} ${DATA.annotator}`;
const SERVED = location.protocol.startsWith("http");
const RETRY = 5000;

function kept() {
  try {
    return JSON.parse(localStorage.getItem(PLACE)) || {};
  } catch {
    return {};
  }
}
// item -> { value, note, sent }
const ANSWERS = Object.assign(Object.create(null), kept());
let state = { text: "", lost: false };
let told = () => {};
let sending = false;

function tell(text, lost = false) {
  state = { text, lost };
  told();
}

function store() {
  try {
    localStorage.setItem(PLACE, JSON.stringify(ANSWERS));
    return true;
  } catch {
    return false;
  }
}

function answer(item, change) {
  ANSWERS[item] = { value: "", note: "", ...ANSWERS[item], ...change, sent: false };
  const stored = store();
  if (!SERVED) tell(stored ? "Saved in this browser" : "This browser keeps nothing: export before you leave", !stored);
  else {
    if (unsent().length) tell("Saving ...");
    send(stored);
  }
}

// A study's server tells a problem as JSON, its guard as a sentence.
function problem(text) {
  try {
    return JSON.parse(text).error;
  } catch {
    return text.trim();
  }
}

const unsent = () => Object.keys(ANSWERS).filter((item) => ANSWERS[item].value && !ANSWERS[item].sent);

async function send(stored = true) {
  const items = unsent();
  if (sending || !items.length) return;
  sending = true;
  let taken = false;
  const batch = Object.fromEntries(items.map((item) => [item, { value: ANSWERS[item].value, note: ANSWERS[item].note }]));
  try {
    const reply = await fetch("answers", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(batch) });
    if (!reply.ok) throw new Error(problem(await reply.text()));
    for (const [item, sent] of Object.entries(batch)) {
      const now = ANSWERS[item];
      if (now.value === sent.value && now.note === sent.note) now.sent = true;
    }
    store();
    taken = true;
    // What was answered while this batch was on its way is not there yet.
    if (!unsent().length) tell("Saved");
  } catch (error) {
    tell(stored ? `Kept in this browser; the server did not take it yet (${error.message})` : "Not saved anywhere: is the server still running?", !stored);
    setTimeout(send, RETRY);
  }
  sending = false;
  if (taken) send();
}

addEventListener("online", () => send());

async function recall() {
  if (!SERVED) return;
  try {
    const reply = await fetch("answers");
    const there = await reply.json();
    for (const [item, one] of Object.entries(there.answers)) {
      if (!ANSWERS[item] || ANSWERS[item].sent) ANSWERS[item] = { ...one, sent: true };
    }
    store();
    send();
  } catch {
    tell("The server cannot be reached; answers are kept in this browser", false);
  }
}

function exported() {
  const answers = Object.fromEntries(Object.entries(ANSWERS).filter(([, one]) => one.value).map(([item, one]) => [item, { value: one.value, note: one.note }]));
  return { ...DATA.sheet, answers };
}
