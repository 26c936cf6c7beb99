// The palette of Okabe and Ito, which colour-blind readers tell apart.
const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#7f7f7f"];
const colour = (place) => COLOURS[place % COLOURS.length];

function shade(value) {
  const share = Math.max(0, Math.min(1, value));
  const mix = [[247, 251, 255], [8, 48, 107]];
  const rgb = mix[0].map((from, place) => Math.round(from + (mix[1][place] - from) * share));
  return { back: `rgb(${rgb.join(",")})`, ink: share > 0.5 ? "#fff" : "#1b1f24" };
}

// rows: [{label, values: [estimate]}]; `pick` is told row and column. Where the window is narrow, a row's cells turn below its name.
function heatMap(rows, columns, { corner, caption, pick }) {
  const cell = (row, estimate, place) => {
    const told = el("td", { "data-head": columns[place] });
    if (!estimate || estimate.value === null) return fill(told, {}, [el("span", {}, "-")]);
    const { back, ink } = shade(estimate.value);
    told.style.background = back;
    told.style.color = ink;
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

const SIZE = { width: 760, height: 300, left: 46, right: 12, top: 10, bottom: 38 };

// series: [{label, points: [[x, estimate]]}]; the legend's buttons hide and show them.
function lineChart(series, { x: xLabel, y: yLabel, top }) {
  const present = series.flatMap((one) => one.points).filter(([, estimate]) => estimate && estimate.value !== null);
  const highest = top ?? Math.max(0.05, ...present.map(([, estimate]) => estimate.high ?? estimate.value));
  // A memory that is worse than chance scores below 0.
  const lowest = Math.max(-1, Math.min(0, ...present.map(([, estimate]) => estimate.low ?? estimate.value)));
  const xs = [...new Set(present.map(([x]) => x))].sort((a, b) => a - b);
  const [first, last] = [xs[0] ?? 0, xs.at(-1) ?? 1];
  const px = (x) => SIZE.left + ((x - first) / Math.max(1, last - first)) * (SIZE.width - SIZE.left - SIZE.right);
  const py = (y) => SIZE.height - SIZE.bottom - ((Math.max(lowest, y) - lowest) / (highest - lowest)) * (SIZE.height - SIZE.top - SIZE.bottom);
  const drawn = series.map((one, place) => drawSeries(one, colour(place), { px, py }));
  const chart = svg("svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, width: SIZE.width, role: "img", "aria-label": `${yLabel} by ${xLabel}: ${series.map((one) => one.label).join(", ")}` },
    axes(xs, [lowest, highest], { px, py, xLabel, yLabel }), drawn);
  const legend = el("ul", { class: "legend" }, series.map((one, place) => el("li", {}, legendButton(one.label, colour(place), drawn[place]))));
  return el("div", {}, legend, chart);
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

function axes(xs, [lowest, highest], { px, py, xLabel, yLabel }) {
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10].find((one) => (highest - lowest) / one <= 6) ?? (highest - lowest) / 5;
  const from = Math.ceil(lowest / step - 1e-9), to = Math.floor(highest / step + 1e-9);
  const levels = Array.from({ length: to - from + 1 }, (_, place) => (from + place) * step);
  return svg("g", {},
    levels.flatMap((y) => [
      svg("line", { x1: SIZE.left, x2: SIZE.width - SIZE.right, y1: py(y), y2: py(y), stroke: "#d5dae0" }),
      svg("text", { x: SIZE.left - 6, y: py(y) + 4, "text-anchor": "end" }, figure(y, 2)),
    ]),
    xs.map((x) => svg("text", { x: px(x), y: SIZE.height - SIZE.bottom + 17, "text-anchor": "middle" }, x)),
    svg("text", { x: SIZE.width / 2, y: SIZE.height - 4, "text-anchor": "middle" }, xLabel),
    svg("text", { x: 12, y: SIZE.height / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${SIZE.height / 2})` }, yLabel));
}

// A dot with its interval, between 0 and 1.
function whisker(estimate) {
  if (!estimate || estimate.value === null) return "";
  const px = (value) => 4 + Math.max(0, Math.min(1, value)) * 112;
  return svg("svg", { class: "whisker", viewBox: "0 0 120 16", width: 120, height: 16, role: "img", "aria-label": shown(estimate) },
    svg("line", { x1: 4, x2: 116, y1: 8, y2: 8, stroke: "#d5dae0" }),
    estimate.low === null ? null : svg("line", { x1: px(estimate.low), x2: px(estimate.high), y1: 8, y2: 8, stroke: COLOURS[0], "stroke-width": 4 }),
    svg("circle", { cx: px(estimate.value), cy: 8, r: 4, fill: COLOURS[0] }));
}
