"use strict";
// Everything that is shown goes through textContent; no text of a run is ever parsed as markup.
const read = (name) => JSON.parse(document.getElementById(name).textContent);
// A block that page.py packed, unpacked by the browser itself.
async function unpacked(name) {
  const bytes = Uint8Array.from(atob(read(name)), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}
const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}
const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
const words = (name) => name.replaceAll("_", " ");
const titled = (word) => word[0].toUpperCase() + word.slice(1);
const count = (number) => number.toLocaleString("en");
const plural = (number, noun) => (number === 1 ? noun : `${noun.replace(/([^aeiou])y$/, "$1ie")}s`);
const counted = (number, noun) => `${count(number)} ${plural(number, noun)}`;

function figure(value, digits = 3) {
  if (value === null || value === undefined) return "-";
  const text = Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : value.toFixed(digits);
  return text.replace(/^(-?)0\./, "$1.");
}
function shown(estimate, digits = 3, missing = "-") {
  if (!estimate || estimate.value === null) return missing;
  const value = figure(estimate.value, digits);
  if (estimate.low === null) return value;
  const [low, high] = [figure(estimate.low, digits), figure(estimate.high, digits)];
  return low === value && high === value ? value : `${value} [${low}, ${high}]`;
}

// Beside a score where writes or recalls were lost, or writes repeated.
const lossMark = (results) => (results.losses ? " (!)" : "");
const percent = (share) => `${(100 * share).toFixed(1)} %`;

// A row of many columns is a block of lines where the window is narrow, as narrow_tables.css has it.
function table(head, rows, caption) {
  return el("div", { class: "wide" }, el("table", { class: head.length > 2 ? "many" : null },
    caption ? el("caption", {}, caption) : null,
    el("thead", {}, el("tr", {}, head.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, place) =>
      place ? el("td", { class: typeof cell === "string" && cell.length < 32 ? "tight" : null, "data-head": head[place] }, cell) : el("th", { scope: "row" }, cell)))))));
}

// A head's button sorts the rows by its column, up or down; what is no number among numbers stands last.
function sortable(holder) {
  const body = holder.querySelector("tbody"), heads = [...holder.querySelectorAll("thead th")];
  holder.querySelector("table").classList.add("sortable");
  const sort = (head, place) => {
    const text = (row) => row.cells[place].textContent.replaceAll(",", "");
    const rows = [...body.rows], numeric = place > 0 && rows.some((row) => !Number.isNaN(parseFloat(text(row))));
    const value = (row) => (numeric ? parseFloat(text(row)) : text(row));
    const order = head.getAttribute("aria-sort") === (numeric ? "descending" : "ascending") ? -1 : 1;
    const known = rows.filter((row) => !Number.isNaN(value(row))).sort((a, b) => (value(a) < value(b) ? -1 : 1));
    if ((order > 0) === numeric) known.reverse();
    for (const other of heads) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", (order > 0) === numeric ? "descending" : "ascending");
    body.append(...known, ...rows.filter((row) => !known.includes(row)));
  };
  // A column of pictures has no order.
  const ordered = heads.filter((_, place) => [...body.rows].some((row) => row.cells[place].textContent));
  for (const head of ordered) head.replaceChildren(el("button", { type: "button", click: () => sort(head, heads.indexOf(head)) }, head.textContent));
  return holder;
}

function section(id, title, ...content) {
  document.getElementById("sections").append(el("a", { href: `#${id}` }, title));
  const made = el("section", { id, "aria-labelledby": `${id}-title` }, el("h2", { id: `${id}-title` }, title), ...content);
  document.getElementById("main").append(made);
  return made;
}

function choice(name, title, values, onChange) {
  const options = values.map(([value, text]) => el("option", { value }, text));
  return el("label", {}, title, el("select", { name, change: onChange }, options));
}

function facts(pairs) {
  return el("dl", {}, pairs.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]));
}

// A number with its interval on the way from `low` to `high`; what lies beyond an end is drawn a little beyond it.
function scale(estimate, { low, high, left, right }) {
  if (!estimate || estimate.value === null || !(high > low)) return null;
  const at = (value) => 20 + 260 * Math.min(Math.max((value - low) / (high - low), -0.06), 1.06);
  return svg("svg", { class: "scale", viewBox: "0 0 300 34", "aria-hidden": "true" },
    svg("line", { class: "track", x1: 20, x2: 280, y1: 9, y2: 9 }),
    estimate.low === null ? null : svg("line", { class: "interval", x1: at(estimate.low), x2: at(estimate.high), y1: 9, y2: 9 }),
    svg("circle", { class: "dot", cx: at(estimate.value), cy: 9, r: 6 }),
    svg("text", { x: 20, y: 30 }, `${left} ${figure(low, 2)}`), svg("text", { x: 280, y: 30, "text-anchor": "end" }, `${right} ${figure(high, 2)}`));
}

// `parts`: [number, what it is, picture, class of the number]; what has a picture is broad.
function hero(parts) {
  return el("ul", { class: "hero" }, parts.map(([value, what, picture, kind]) =>
    el("li", { class: picture ? "broad" : null }, el("b", { class: kind }, value), what, picture)));
}
