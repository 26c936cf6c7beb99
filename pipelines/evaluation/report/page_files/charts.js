// The palette of Okabe and Ito, which colour-blind readers tell apart, and three more.
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "var(--ink)", "#7f7f7f", "#8b5e34", "#9a4fb8"];
const colour = (place) => COLOURS[place % COLOURS.length];

// Half of the accent at most, so that the page's ink is read on it in light and in dark.
const shade = (value) => `color-mix(in srgb, var(--accent) ${(50 * Math.max(0, Math.min(1, value))).toFixed(0)}%, transparent)`;

// rows: [{label, values: [estimate]}]; `pick` is told row and column. Where the window is narrow, a row's cells turn below its name.
function heatMap(rows, columns, { corner, caption, pick }) {
  const cell = (row, estimate, place) => {
    const told = el("td", { "data-head": columns[place] });
    if (!estimate || estimate.value === null) return fill(told, {}, [el("span", {}, "-")]);
    told.style.background = shade(estimate.value);
    const title = `${row.label}, ${corner} ${columns[place]}: ${shown(estimate)}`;
    told.append(pick
      ? el("button", { type: "button", title, "aria-label": title, click: () => pick(row, place) }, figure(estimate.value, 2))
      : el("span", { title }, figure(estimate.value, 2)));
    return told;
  };
  return el("div", { class: "wide" }, el("table", { class: "heat" }, el("caption", {}, caption),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, corner), columns.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, rows.map((row) => el("tr", {}, el("th", { scope: "row" }, row.label),
      row.values.map((estimate, place) => cell(row, estimate, place)))))));
}

const SIZE = { widest: 640, height: 300, left: 46, right: 24, top: 10, bottom: 38 };

// Shares, always on a scale to 1. series: [{label, points: [[x, estimate]]}]; the legend's buttons hide and show them.
// `place`: of a series' colour, where it is not its own. `references`: [{label, value}], dashed.
// It is drawn as wide as the window has room for, so that its words are not shrunk.
function lineChart(series, { x: xLabel, y: yLabel, scatter = false, references = [] }) {
  const width = Math.min(SIZE.widest, document.getElementById("main").clientWidth - 40);
  const present = series.flatMap((one) => one.points).filter(([, estimate]) => estimate && estimate.value !== null);
  // A memory that is worse than chance scores below 0.
  const lowest = Math.max(-1, Math.min(0, ...present.map(([, estimate]) => estimate.low ?? estimate.value)));
  const found = [...new Set(present.map(([x]) => x))].sort((a, b) => a - b);
  const last = found.at(-1) ?? 1, first = scatter ? 0 : found[0] ?? 0;
  const xs = scatter || found.length > 12 ? levels(first, last, width < 500 ? 4 : 6) : found;
  const px = (x) => SIZE.left + ((x - first) / (last - first || 1)) * (width - SIZE.left - SIZE.right);
  const py = (y) => SIZE.height - SIZE.bottom - ((Math.max(lowest, y) - lowest) / (1 - lowest)) * (SIZE.height - SIZE.top - SIZE.bottom);
  const inks = series.map((one, place) => colour(one.place ?? place));
  const drawn = series.map((one, place) => drawSeries(one, inks[place], { px, py }));
  const chart = svg("svg", { viewBox: `0 0 ${width} ${SIZE.height}`, width, role: "img", "aria-label": `${yLabel} by ${xLabel}: ${series.map((one) => one.label).join(", ")}` },
    axes(xs, lowest, { px, py, xLabel, yLabel, width }),
    references.map(({ label, value }) => [
      svg("line", { class: "reference", x1: SIZE.left, x2: width - SIZE.right, y1: py(value), y2: py(value) }),
      svg("text", { x: SIZE.left + 4, y: py(value) + (value > 0.9 ? 13 : -4) }, label)]).flat(), drawn);
  const legend = el("ul", { class: "legend" }, series.map((one, place) => el("li", {}, legendButton(one.label, inks[place], drawn[place]))));
  return el("div", {}, legend, chart);
}

// Round numbers from `lowest` to `highest`, at most so many and one.
function levels(lowest, highest, most) {
  const rough = (highest - lowest) / most || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((one) => one * power >= rough * (1 - 1e-9));
  const from = Math.ceil(lowest / step - 1e-9), to = Math.floor(highest / step + 1e-9);
  return Array.from({ length: to - from + 1 }, (_, place) => Number(((from + place) * step).toPrecision(12)));
}

function drawSeries(one, ink, { px, py }) {
  const points = one.points.filter(([, estimate]) => estimate && estimate.value !== null);
  const sure = points.filter(([, estimate]) => estimate.low !== null);
  const at = ([x, y]) => `${px(x).toFixed(1)},${py(y).toFixed(1)}`;
  const band = [...sure.map(([x, e]) => at([x, e.high])), ...sure.toReversed().map(([x, e]) => at([x, e.low]))];
  return svg("g", {},
    band.length ? svg("polygon", { points: band.join(" "), fill: ink, "fill-opacity": 0.13 }) : null,
    svg("polyline", { points: points.map(([x, e]) => at([x, e.value])).join(" "), fill: "none", stroke: ink, "stroke-width": 2 }),
    points.map(([x, e]) => svg("circle", { cx: px(x), cy: py(e.value), r: 3.5, fill: ink }, svg("title", {}, `${one.label}, ${x}: ${shown(e)}`))));
}

function legendButton(label, ink, drawn) {
  const swatch = el("span", { class: "swatch" });
  swatch.style.background = ink;
  const toggle = (event) => {
    const on = event.currentTarget.getAttribute("aria-pressed") !== "true";
    event.currentTarget.setAttribute("aria-pressed", String(on));
    drawn.setAttribute("visibility", on ? "visible" : "hidden");
  };
  return el("button", { type: "button", "aria-pressed": "true", click: toggle }, swatch, label);
}

function axes(xs, lowest, { px, py, xLabel, yLabel, width }) {
  return svg("g", {},
    levels(lowest, 1, 6).flatMap((y) => [
      svg("line", { class: "grid", x1: SIZE.left, x2: width - SIZE.right, y1: py(y), y2: py(y) }),
      svg("text", { x: SIZE.left - 6, y: py(y) + 4, "text-anchor": "end" }, figure(y, 2)),
    ]),
    xs.map((x) => svg("text", { x: px(x), y: SIZE.height - SIZE.bottom + 17, "text-anchor": "middle" }, x.toLocaleString("en"))),
    svg("text", { x: width / 2, y: SIZE.height - 4, "text-anchor": "middle" }, xLabel),
    svg("text", { x: 12, y: SIZE.height / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${SIZE.height / 2})` }, yLabel));
}

// A bar with its interval, between 0 and 1.
function whisker(estimate) {
  if (!estimate || estimate.value === null) return "";
  const px = (value) => 4 + Math.max(0, Math.min(1, value)) * 112;
  return svg("svg", { class: "whisker", viewBox: "0 0 120 16", width: 120, height: 16, role: "img", "aria-label": shown(estimate) },
    svg("line", { x1: 4, x2: 116, y1: 8, y2: 8, class: "grid" }),
    svg("line", { x1: 4, x2: px(estimate.value), y1: 8, y2: 8, stroke: COLOURS[0], "stroke-width": 10, "stroke-opacity": 0.35 }),
    estimate.low === null ? null : svg("line", { x1: px(estimate.low), x2: px(estimate.high), y1: 8, y2: 8, stroke: COLOURS[0], "stroke-width": 4 }),
    svg("circle", { cx: px(estimate.value), cy: 8, r: 4, fill: COLOURS[0] }));
}
