// Charts as plain SVG, drawn as wide as their place. Every text has the same size, and every chart has its numbers in a
// table behind it. Names are data: they only ever become text nodes and attributes, never markup.

const content = JSON.parse(document.getElementById("data").textContent);
const COLOURS = [1, 2, 3, 4, 5, 6].map(i => `var(--line${i})`), GREY = "var(--grey)";  // both themes are in the style sheet
const SIZE = 12;  // of every text in a chart, in pixels; as in the style sheet

const $ = id => document.getElementById(id);
const element = (tag, text, parent, kind) => {
  const made = document.createElement(tag);
  if (text !== undefined && text !== null) made.textContent = text;
  if (kind) made.className = kind;
  if (parent) parent.append(made);
  return made;
};
const shape = (tag, attributes, parent, text) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  if (parent) parent.append(made);
  return made;
};
let printing = false;
const cut = (text, most) => text.length > most ? text.slice(0, Math.max(1, most - 1)) + "…" : text;
const short = value => typeof value === "number" ? Number(value.toPrecision(4)).toString() : String(value);
const words = config => Object.entries(config).filter(([, v]) => v !== null).map(([k, v]) => `${k} = ${short(v)}`).join(", ");
const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches && !printing;

const pen = document.createElement("canvas").getContext("2d");
const wide = text => {
  pen.font = `${SIZE}px system-ui, sans-serif`;
  return pen.measureText(text).width;
};
const fitted = (text, room) => {
  if (wide(text) <= room) return text;
  let kept = text;
  while (kept.length > 1 && wide(kept + "…") > room) kept = kept.slice(0, -1);
  return kept + "…";
};
// As many of the parts as there is room for, none of them cut in two.
const fittedParts = (first, parts, room) => {
  for (let n = parts.length; n > 0; n--) {
    const text = first + parts.slice(0, n).join(", ") + (n < parts.length ? ", …" : "");
    if (wide(text) <= room) return text;
  }
  return fitted(first + parts.join(", "), room);
};

// -- the page's parts -----------------------------------------------------------------------------------------

const section = (title, text, kind) => {
  const made = element("section", undefined, undefined, kind);
  document.querySelector("footer").before(made);
  if (title) {
    const heading = element("h2", title, made);
    heading.id = `part-${document.querySelectorAll("section").length}`;
    made.setAttribute("aria-labelledby", heading.id);
  }
  if (text) element("p", text, made);
  return made;
};

const facts = (parent, pairs) => {
  const list = element("dl", undefined, parent, "facts");
  for (const [name, value] of pairs) {
    if (value === null || value === undefined || value === "") continue;
    const pair = element("div", undefined, list);
    element("dt", name, pair);
    const said = typeof value === "number" ? value.toLocaleString("en") : value, shown = element("dd", undefined, pair);
    said.split(/(?<=[/\\_:?&@])(?![/\\])|(?=[.])/).forEach((part, i) => shown.append(...(i ? [element("wbr"), part] : [part])));
    if (said.length > 16) pair.className = "long";
  }
};

// A table; a cell is text, null for an inactive parameter, or a node. Where there is no room, rows become cards.
const table = (parent, header, rows, kind = "") => {
  const made = element("table", undefined, parent, kind);
  made.setAttribute("role", "table");
  const line = (cells, tag, where, role) => {
    const row = element("tr", undefined, where);
    row.setAttribute("role", "row");
    cells.forEach((cell, k) => {
      const one = element(tag, cell instanceof Node ? undefined : cell === null ? "–" : cell, row);
      if (cell instanceof Node) one.append(cell);
      if (cell === null) one.className = "off";
      if (header[k] === WIDE) one.className = "wide";
      one.setAttribute("role", role);
      one.dataset.label = header[k];
    });
    return row;
  };
  line(header, "th", element("thead", undefined, made), "columnheader");
  const body = element("tbody", undefined, made);
  rows.forEach(cells => line(cells, "td", body, "cell"));
  return made;
};
const WIDE = "best for";

const copies = (parent, texts) => {
  const row = element("div", undefined, parent, "row"), names = {json: "JSON", python: "Python", optuna: "Optuna lines"};
  const status = element("span", "", row, "status");
  status.setAttribute("role", "status");
  for (const [kind, name] of Object.entries(names)) {
    const button = element("button", `Copy as ${name}`, undefined, "copy");
    button.type = "button";
    button.onclick = async () => {
      const done = await copied(texts[kind]);
      status.textContent = done ? `Copied as ${name}.` : "This browser does not let the page copy; the text is below.";
    };
    status.before(button);
  }
  for (const [kind, name] of Object.entries(names)) {
    const box = element("details", undefined, parent);
    element("summary", `The start as ${name}`, box);
    element("pre", texts[kind], box).tabIndex = 0;
  }
};
const copied = async text => {
  try { await navigator.clipboard.writeText(text); return true; } catch { /* not allowed here: try the old way */ }
  const area = element("textarea", undefined, document.body);
  area.value = text;
  area.select();
  try { return document.execCommand("copy"); } catch { return false; } finally { area.remove(); }
};

// -- hints ----------------------------------------------------------------------------------------------------

const showTip = (text, x, y) => {
  const tip = $("tip");
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 4))}px`;
  tip.style.top = `${y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 12) : y + 18}px`;
};
const hideTip = () => { $("tip").hidden = true; };
const hint = (target, text) => {
  target.addEventListener("pointermove", event => showTip(text, event.clientX, event.clientY));
  target.addEventListener("pointerleave", hideTip);
  target.addEventListener("focus", () => {
    const box = target.getBoundingClientRect();
    showTip(text, box.left + box.width / 2, box.bottom - 10);
  });
  target.addEventListener("blur", hideTip);
};
addEventListener("keydown", event => { if (event.key === "Escape") hideTip(); });

// -- charts ---------------------------------------------------------------------------------------------------

const pictures = [];  // functions that draw; called again when the width or the theme changes
let drawn = 0;
const drawAll = () => { drawn = innerWidth; hideTip(); pictures.forEach(draw => draw()); document.body.dataset.drawn = "yes"; };
const begin = () => {
  drawAll();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  for (const [event, now] of [["beforeprint", true], ["afterprint", false]])
    addEventListener(event, () => { printing = now; drawAll(); });
  addEventListener("resize", () => { if (!printing && Math.abs(innerWidth - drawn) > 4) drawAll(); });
};

// A place for a chart. label: what a screen reader says. rows: the numbers, as a function that returns [header, rows].
const chart = (parent, id, label, rows, paint) => {
  const figure = element("figure", undefined, parent);
  figure.id = id;
  const place = element("div", undefined, figure);
  if (rows) {
    const box = element("details", undefined, figure, "screen");
    element("summary", "As a table", box);
    box.addEventListener("toggle", () => {
      if (!box.open || box.querySelector("table")) return;
      const scroll = element("div", undefined, box, "scroll");
      scroll.tabIndex = 0;
      table(scroll, ...rows());
    });
  }
  pictures.push(() => {
    place.replaceChildren();
    const onPaper = place.closest(".many") ? 340 : 720;  // about as wide as a page, so that texts keep their size
    const width = printing ? onPaper : Math.max(240, Math.floor(place.clientWidth));
    const svg = shape("svg", {role: "img", "aria-label": label}, place);
    const height = paint(svg, width);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("width", width);
  });
  return figure;
};

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const power = n => "10" + (n < 0 ? "⁻" : "") + [...String(Math.abs(n))].map(d => SUPERSCRIPTS[d]).join("");

// A scale from data to pixels: {at, ticks: [[value, text] …]}. Ticks are at least `gap` pixels apart.
const linear = (low, high, from, to, gap, whole = false) => {
  if (!(high > low)) { low -= .5; high += .5; }
  const most = Math.max(1, Math.floor(Math.abs(to - from) / gap)), raw = (high - low) / most;
  const base = 10 ** Math.floor(Math.log10(raw));
  let step = [1, 2, 5, 10].map(m => m * base).find(s => s >= raw * .999);
  if (whole) step = Math.max(1, Math.round(step));
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) {
    const value = Number((k * step).toPrecision(12));
    ticks.push([value, Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-4) ? value.toExponential(0) : short(value)]);
  }
  return {at: v => from + (v - low) / (high - low) * (to - from), ticks};
};
const logarithmic = (low, high, from, to, gap) => {
  const l = Math.log10(low), h = Math.log10(high), at = v => from + (Math.log10(v) - l) / (h - l) * (to - from);
  const room = Math.max(2, Math.floor(Math.abs(to - from) / gap));
  let powers = [];
  for (let k = Math.ceil(l - 1e-9); k <= h + 1e-9; k++) powers.push(k);
  if (powers.length >= 2) {
    const skip = Math.ceil(powers.length / room);
    powers = powers.filter((_, i) => i % skip === 0);
    return {at, ticks: powers.map(k => [10 ** k, power(k)])};
  }
  let ticks = [];
  for (let k = Math.floor(l); k <= h; k++) for (const m of [1, 2, 5]) ticks.push(m * 10 ** k);
  ticks = ticks.filter(v => v >= low * .999 && v <= high * 1.001);
  if (ticks.length < 2) ticks = [low, high];
  return {at, ticks: ticks.filter((_, i) => i % Math.ceil(ticks.length / room) === 0).map(v => [v, short(v)])};
};
const bands = (names, from, to) => {
  const step = (to - from) / names.length;
  return {at: i => from + (i + .5) * step, step,
          ticks: names.map((name, i) => [i, fitted(String(name), Math.abs(step) - 6)])};
};

// Grid, axes and titles. scale: functions of (from, to) that return a scale.
const axes = (svg, width, height, {x, y, xTitle, yTitle}) => {
  const top = 10, bottom = height - (xTitle ? 42 : 24);
  const yScale = y(bottom, top);
  const left = Math.ceil(Math.max(...yScale.ticks.map(([, text]) => wide(text)))) + 10 + (yTitle ? 22 : 0);
  const xScale = x(left + 4, width - 12);
  for (const [value, text] of yScale.ticks) {
    shape("line", {class: "grid", x1: left, x2: width - 8, y1: yScale.at(value), y2: yScale.at(value)}, svg);
    shape("text", {class: "tick", x: left - 6, y: yScale.at(value) + 4, "text-anchor": "end"}, svg, text);
  }
  shape("line", {class: "axis", x1: left, x2: width - 8, y1: bottom, y2: bottom}, svg);
  for (const [value, text] of xScale.ticks) {
    const middle = xScale.at(value), half = wide(text) / 2;
    shape("line", {class: "axis", x1: middle, x2: middle, y1: bottom, y2: bottom + 4}, svg);
    shape("text", {class: "tick", x: Math.max(half, Math.min(middle, width - half)), y: bottom + 17, "text-anchor": "middle"}, svg, text);
  }
  if (xTitle) shape("text", {x: (left + width) / 2, y: height - 6, "text-anchor": "middle"}, svg, fitted(xTitle, width - left));
  if (yTitle) {
    const middle = (top + bottom) / 2;
    shape("text", {x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})`}, svg, fitted(yTitle, bottom - top + 10));
  }
  return {X: xScale.at, Y: yScale.at, left, top, bottom, xScale};
};
const path = points => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
const band = (svg, xs, lows, highs, colour) => shape("path", {fill: colour, opacity: .16, stroke: "none",
  d: path([...xs.map((x, i) => [x, highs[i]]), ...xs.map((x, i) => [x, lows[i]]).reverse()]) + "Z"}, svg);
const line = (svg, xs, ys, colour, more = {}) => shape("path", {fill: "none", stroke: colour, "stroke-width": 2.2,
  d: path(xs.map((x, i) => [x, ys[i]])), ...more}, svg);

const legend = (parent, entries) => {
  const list = element("ul", undefined, parent, "legend");
  for (const [name, colour, style] of entries) {
    const item = element("li", undefined, list), swatch = element("span", undefined, item, style === "dot" ? "dot" : undefined);
    swatch.style.borderColor = colour;
    if (style && style !== "dot") swatch.style.borderTopStyle = "dashed";
    item.append(name);
  }
  return list;
};

// The loss along one parameter: a curve with a band, or one mark per choice, and points on it.
const slicePicture = (slice, yTitle, points, low, high) => (svg, width) => {
  const height = 230;
  const y = (from, to) => linear(low, high, from, to, 34);
  const x = slice.choices ? (from, to) => bands(slice.choices, from, to)
    : slice.log ? (from, to) => logarithmic(slice.x[0], slice.x.at(-1), from, to, 46)
    : (from, to) => linear(slice.x[0], slice.x.at(-1), from, to, 56);
  const {X, Y, left, top, bottom} = axes(svg, width, height, {x, y, yTitle});
  const place = v => X(slice.choices ? slice.choices.indexOf(String(v)) : v), clip = v => Y(Math.max(low, Math.min(high, v)));
  if (slice.choices) slice.choices.forEach((choice, i) => {
    shape("rect", {x: X(i) - 9, width: 18, y: clip(slice.high[i]), height: Math.max(2, clip(slice.low[i]) - clip(slice.high[i])), fill: COLOURS[0], opacity: .25}, svg);
    hint(shape("line", {x1: X(i) - 14, x2: X(i) + 14, y1: clip(slice.mean[i]), y2: clip(slice.mean[i]), stroke: COLOURS[0], "stroke-width": 3}, svg), `${choice}: ${slice.mean[i].toFixed(3)}`);
  });
  else {
    band(svg, slice.x.map(X), slice.low.map(clip), slice.high.map(clip), COLOURS[0]);
    line(svg, slice.x.map(X), slice.mean.map(clip), COLOURS[0]);
  }
  points(svg, place, clip, [left, top, width - 8, bottom]);
  return height;
};
const sliceTable = slice => () => [[slice.name, "mean", "low", "high"],
  slice.x.map((x, i) => [short(slice.choices ? slice.choices[i] : x), short(slice.mean[i]), short(slice.low[i]), short(slice.high[i])])];
