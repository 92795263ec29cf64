// The page about a history: does it help, what was learned, how similar are its tasks, which parameters matter.

const NAMES = {auto: "auto", li: "learned start (LI)", rbi: "best of random tasks (RBI)", random: "random search"};
const methodName = method => NAMES[method] ?? method;
let picked = null;  // position of the chosen configuration of the start
const chooseable = [];  // functions to call when the choice of a configuration changes

// -- the answer -----------------------------------------------------------------------------------------------

const drawAnswer = () => {
  const verdict = content.verdict, box = section("", "", `verdict ${verdict.answer}`);
  $("subtitle").textContent = "Which configurations to try first, learned from past runs";
  element("h2", "Do past runs help here?", box);
  element("p", verdict.headline, box, "answer");
  if (verdict.worse.length) {
    const text = verdict.worse.map(([task, by]) => `${task} (by ${by.toFixed(3)})`);
    element("p", `On ${verdict.worse.length} of ${verdict.tested} tasks, the start did worse than random search: ` +
            text.slice(0, 8).join(", ") + (text.length > 8 ? ", …" : "."), box, "not");
    if (text.length > 8) {
      const more = element("details", undefined, box);
      element("summary", "All of them", more);
      element("p", text.join(", "), more);
    }
  } else element("p", `On none of the ${verdict.tested} tasks was the start worse than random search.`, box, "not");
  element("p", verdict.says, box, "says");
  facts(box, [["date", content.about.date], ["source", content.about.source], ["metric", content.about.metric],
              ["direction", content.facts.direction === "minimize" ? "lower is better" : "higher is better"],
              ["tasks", content.facts.tasks], ["evaluations", content.facts.evaluations],
              ["configurations", content.facts.configurations], ["parameters", content.facts.parameters.length],
              ["method", verdict.method], ["seed", String(content.about.seed)]]);
};

// -- the evidence ---------------------------------------------------------------------------------------------

const drawEvidence = () => {
  const box = section("What a start is worth", "Each task was left out in turn and started with what was learned from the " +
    "others. The curves show the distance of the best configuration so far to the best known one: 0 is the best of a task, " +
    "1 the worst. Bands: 95% bootstrap intervals over tasks.");
  const curves = content.evidence.map((curve, i) => ({...curve, random: curve.method === "random",
    colour: curve.method === "random" ? GREY : COLOURS[i % COLOURS.length]}));
  legend(box, curves.map(curve => [methodName(curve.method), curve.colour, curve.random]));
  const n = curves[0].trials.length, high = Math.max(...curves.flatMap(curve => curve.high)) * 1.04;
  const label = `Mean distance to the best after 1 to ${n} trials: ` +
    curves.map(curve => `${methodName(curve.method)} ends at ${curve.adtm.at(-1).toFixed(3)}`).join(", ");
  chart(box, "evidence", label, () => [["trials", ...curves.map(curve => methodName(curve.method))],
    curves[0].trials.map((t, k) => [String(t), ...curves.map(c => `${c.adtm[k].toFixed(3)} (${c.low[k].toFixed(3)} to ${c.high[k].toFixed(3)})`)])],
  (svg, width) => {
    const height = printing ? 260 : width < 600 ? 300 : 380;
    const {X, Y} = axes(svg, width, height, {x: (a, b) => linear(n > 1 ? 1 : .5, Math.max(n, 1.5), a, b, 40, true),
      y: (a, b) => linear(0, high, a, b, 44), xTitle: "trials", yTitle: "distance to the best"});
    for (const curve of curves) {
      const xs = curve.trials.map(X);
      band(svg, xs, curve.low.map(Y), curve.high.map(Y), curve.colour);
      line(svg, xs, curve.adtm.map(Y), curve.colour, curve.random ? {"stroke-dasharray": "5 4"} : {});
      curve.trials.forEach((t, k) => hint(shape("circle", {cx: X(t), cy: Y(curve.adtm[k]), r: 4.5, fill: curve.colour}, svg),
        `${methodName(curve.method)}\nafter ${t} trials: ${curve.adtm[k].toFixed(3)} (${curve.low[k].toFixed(3)} to ${curve.high[k].toFixed(3)})`));
    }
    return height;
  });
};

// The same over time. A dashed line leads from the start's last trial to where random search is as good.
const drawTime = () => {
  const time = content.time;
  if (!time) return;
  const box = section("What it is worth in time", `${time.says} The curves show the mean distance to the best over the time that ` +
    "the trials took, 1 before the first one has ended. The start ends where its line does. Both axes are logarithmic.");
  legend(box, [["start that knows the cost", COLOURS[0]], ["random search", GREY, true]]);
  const until = time.times.filter(t => t <= time.after * 1.0001).length, low = time.times[0], end = time.times.at(-1);
  const least = Math.max(1e-3, Math.min(time.level, ...time.random) / 1.5);  // a logarithm has no 0
  chart(box, "time", time.says, () => [[time.unit, "start", "random search"], time.times.map((t, k) =>
    [short(t), k < until ? time.start[k].toFixed(3) : null, time.random[k].toFixed(3)])],
  (svg, width) => {
    const height = printing ? 260 : width < 600 ? 300 : 380;
    const {X, Y, bottom} = axes(svg, width, height, {x: (a, b) => logarithmic(low, end, a, b, 60),
      y: (a, b) => logarithmic(least, 1, a, b, 44), xTitle: time.unit, yTitle: "distance to the best"});
    const heightOf = y => Y(Math.max(y, least));
    const xs = time.times.map(X), level = heightOf(time.level), there = time.catches_up ?? end;
    line(svg, xs, time.random.map(heightOf), GREY, {"stroke-dasharray": "5 4"});
    line(svg, [...xs.slice(0, until), X(time.after)], [...time.start.slice(0, until).map(heightOf), level], COLOURS[0]);
    line(svg, [X(time.after), X(there)], [level, level], "var(--mark)", {"stroke-width": 1.6, "stroke-dasharray": "2 4"});
    for (const [at, colour, who] of [[time.after, COLOURS[0], "start"], [time.catches_up, GREY, "random search"]]) {
      if (at === null) continue;
      line(svg, [X(at), X(at)], [level, bottom], "var(--mark)", {"stroke-width": 1.2, "stroke-dasharray": "2 4"});
      hint(shape("circle", {cx: X(at), cy: level, r: 5, fill: colour, stroke: "var(--card)"}, svg),
        `${who} after ${short(at)} ${time.unit}: ${time.level.toFixed(3)}`);
    }
    return height;
  });
};

// -- the start ------------------------------------------------------------------------------------------------

const drawStart = () => {
  const start = content.start, box = section("The learned start", "Try these first, in this order. Expected is the mean " +
    "distance to a task's best after this configuration and all above it; “best for” lists the tasks for which it is the " +
    "best of the start.");
  element("span", " Choose a number to highlight that configuration below.", box.lastChild, "screen");
  const buttons = start.configs.map((_, i) => {
    const button = element("button", String(i + 1));
    button.type = "button";
    button.setAttribute("aria-pressed", "false");
    button.setAttribute("aria-label", `configuration ${i + 1}`);
    button.onclick = () => pick(i);
    return button;
  });
  const rows = start.configs.map((config, i) => [buttons[i], ...start.names.map(name => config[name] === null ? null : short(config[name])),
    start.expected[i].toFixed(3), start.serves[i].length ? `${start.serves[i].join(", ")} (${start.serves[i].length})` : "–"]);
  const made = table(box, ["number", ...start.names, "expected", WIDE], rows, start.names.length > 6 ? "always" : "cards");
  made.id = "start";
  copies(box, start.copy);
  const pick = i => {
    picked = picked === i ? null : i;
    buttons.forEach((button, k) => {
      button.setAttribute("aria-pressed", String(k === picked));
      button.closest("tr").classList.toggle("picked", k === picked);
    });
    chooseable.forEach(draw => draw());
  };
};

// -- the tasks ------------------------------------------------------------------------------------------------

const SCALES = {  // good values contrast with the page in both themes, so that they stand out
  light: [[0, "#083d56"], [.1, "#13708c"], [.3, "#5fb3b3"], [.6, "#cfe3d4"], [1, "#f6efe0"]],
  dark: [[0, "#f5f1c9"], [.1, "#9ad9b8"], [.3, "#3f9ea5"], [.6, "#275571"], [1, "#202836"]]};
const colourAt = share => {
  const stops = SCALES[isDark() ? "dark" : "light"], s = Math.max(0, Math.min(1, share));
  const k = Math.max(1, stops.findIndex(([at]) => s <= at)), [a, one] = stops[k - 1], [b, two] = stops[k];
  const rgb = hex => [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16)), t = (s - a) / (b - a);
  return `rgb(${rgb(one).map((v, i) => Math.round(v + t * (rgb(two)[i] - v))).join(",")})`;
};
const colourKey = (parent, title, from, to) => {
  const row = element("p", title, parent, "key"), whole = element("span", undefined, row, "ends"), shares = [0, .1, .2, .35, .5, .75, 1];
  whole.append(from);
  const scale = element("span", undefined, whole, "scale"), boxes = shares.map(() => element("span", undefined, scale));
  whole.append(to);
  pictures.push(() => boxes.forEach((box, i) => { box.style.background = colourAt(shares[i]); }));
};

// Places for the names of points: next to the point, or farther away with a line to it, never on another name or point.
// A name without a place becomes a number, which a list below explains. Where many names have no place, or one far
// from their points, all but the first few become numbers.
const placedLabels = (points, names, bounds, kept) => {
  const taken = points.map(([x, y]) => [x - 6, y - 6, x + 6, y + 6]);
  const free = ([a, b, c, d]) => a >= bounds[0] && b >= bounds[1] && c <= bounds[2] && d <= bounds[3] &&
    taken.every(([e, f, g, h]) => c <= e || a >= g || d <= f || b >= h);
  const place = (i, text) => {
    const half = wide(text) / 2 + 1;
    for (const radius of [13, 18, 26, 36, 48, 64, 82, 104, 130, 160])
      for (const angle of [270, 90, 0, 180, 315, 225, 45, 135]) {
        const dx = Math.cos(angle * Math.PI / 180), dy = Math.sin(angle * Math.PI / 180);
        const x = points[i][0] + dx * radius + Math.sign(Math.round(dx * 10)) * half, y = points[i][1] + dy * radius;
        const box = [x - half, y - 7, x + half, y + 7];
        if (free(box)) { taken.push(box); return {x, y, text, far: radius > 20, astray: radius > 40}; }
      }
    return null;
  };
  let found = names.map((name, i) => place(i, name)), number = 0;
  const share = test => found.filter(test).length / names.length;
  if (share(label => !label) > .1 || share(label => !label || label.astray) > .25) {
    taken.length = points.length;
    found = names.map((name, i) => i < kept ? place(i, name) : null);
  }
  return found.map((label, i) => label ?? {x: points[i][0], y: points[i][1] - 11, ...place(i, String(++number)), number});
};

const drawMap = () => {
  const tasks = content.map, box = section("How similar the tasks are", "Tasks that rank configurations similarly lie close " +
    "together: a distance of 0.1 on the map means that two tasks disagree on about 10% of all pairs of configurations, " +
    "as far as a plane can show it. Diamonds are outliers, far even from their nearest neighbours; a thick ring marks tasks " +
    "on which the start did worse than random search.");
  const row = element("div", undefined, box, "row"), label = element("label", "Task ", row);
  const select = element("select", undefined, label);
  select.id = "task";
  element("option", "–", select).value = "";
  tasks.forEach((task, i) => { element("option", task.task, select).value = i; });
  const most = Math.max(.2, ...tasks.map(task => task.reached));
  colourKey(box, "distance to the best after the start: ", "0", most.toFixed(2));
  const describe = task => `${task.task}\n${task.evaluations} evaluations\nbest: ${cut(words(task.best), 120)}\n` +
    `distance after the start: ${task.reached.toFixed(3)}` + (task.worse ? "\nworse than random search" : "");
  let chosen = null;
  const rest = () => {
    if (!rest.place) (rest.place = element("p", "", undefined, "rest"), map.firstChild.after(rest.place));
    return rest.place;
  };
  const map = chart(box, "map", `Map of ${tasks.length} tasks; the list above chooses one`, () => [
    ["task", "x", "y", "distance after the start", "outlier", "worse than random search"],
    tasks.map(t => [t.task, short(t.x), short(t.y), t.reached.toFixed(3), t.outlier ? "yes" : "no", t.worse ? "yes" : "no"])],
  (svg, width) => {
    const xs = tasks.map(t => t.x), ys = tasks.map(t => t.y), pad = .06 * (Math.max(...xs) - Math.min(...xs) || 1);
    const [l, r, b, t] = [Math.min(...xs) - pad, Math.max(...xs) + pad, Math.min(...ys) - pad, Math.max(...ys) + pad];
    const [least, most] = printing ? [360, 500] : [width < 600 ? 340 : 440, 620];  // on paper, so that it fits below a table
    const height = Math.round(Math.max(least, Math.min(most, (width - 70) * (t - b) / (r - l) + 60)));
    const unit = Math.min((width - 82) / (r - l), (height - 56) / (t - b));  // the same on both axes
    const half = [(width - 82) / unit / 2, (height - 56) / unit / 2], middle = [(l + r) / 2, (b + t) / 2];
    const {X, Y, left, top, bottom} = axes(svg, width, height, {
      x: (from, to) => linear(middle[0] - half[0], middle[0] + half[0], from, to, 60),
      y: (from, to) => linear(middle[1] - half[1], middle[1] + half[1], from, to, 44),
      xTitle: "share of pairs ranked differently, first direction", yTitle: "second direction"});
    const order = tasks.map((_, i) => i).sort((i, j) => (tasks[j].outlier || tasks[j].worse) - (tasks[i].outlier || tasks[i].worse));
    const points = order.map(i => [X(tasks[i].x), Y(tasks[i].y)]), bounds = [left + 2, top - 8, width - 4, bottom - 2];
    const labels = placedLabels(points, order.map(i => cut(tasks[i].task, width < 600 ? 12 : 22)), bounds,
      tasks.filter(task => task.outlier || task.worse).length);
    const numbered = labels.flatMap((label, k) => label.number ? [`${label.number} ${tasks[order[k]].task}`] : []);
    order.forEach((i, k) => {
      const task = tasks[i], [x, y] = points[k], at = labels[k], big = i === chosen ? 9 : 5.5;
      if (at.far) shape("line", {class: "leader", x1: x, y1: y, x2: at.x, y2: at.y}, svg);
      const style = {fill: colourAt(task.reached / most), stroke: task.worse ? "var(--bad)" : "var(--soft)", "stroke-width": i === chosen ? 3.5 : task.worse ? 2.8 : 1};
      const point = task.outlier ? shape("path", {d: `M${x} ${y - big - 2}L${x + big + 2} ${y}L${x} ${y + big + 2}L${x - big - 2} ${y}Z`, ...style}, svg)
        : shape("circle", {cx: x, cy: y, r: big, ...style}, svg);
      point.classList.add("point");
      point.dataset.task = i;
      point.style.cursor = "pointer";
      point.addEventListener("click", () => choose(i));
      hint(point, describe(task));
      shape("text", {class: i === chosen ? "label strong" : "label", x: at.x, y: at.y + 4, "text-anchor": "middle"}, svg, at.text ?? String(at.number));
    });
    rest().textContent = numbered.length ? `Numbers stand for: ${numbered.join(", ")}.` : "";
    return height;
  });
  const details = element("div", "Choose a task.", box, "box");
  details.id = "details";
  details.setAttribute("role", "status");
  const again = pictures.at(-1);
  const choose = i => {
    chosen = i;
    select.value = i === null ? "" : String(i);
    again();
    details.replaceChildren();
    if (i === null) { details.textContent = "Choose a task."; return; }
    const task = tasks[i];
    element("b", task.task, details);
    element("div", `${task.evaluations} evaluations; best known: ${words(task.best)}`, details);
    const serving = content.start.serves.findIndex(names => names.includes(task.task));
    if (serving >= 0) element("div", `configuration ${serving + 1} of the start is the best for it: ${words(content.start.configs[serving])}`, details);
    element("div", `when it was left out, the start came within ${task.reached.toFixed(3)} of its best` + (task.worse ? ", worse than random search" : ""), details);
    if (task.outlier) element("div", "an outlier: it ranks configurations unlike any other task", details);
  };
  select.onchange = () => choose(select.value === "" ? null : Number(select.value));
};

const drawHeat = () => {
  const heat = content.heat, rows = heat.rows;
  const box = section("Configurations × tasks", `The loss of ${rows.length} configurations, the best on average at the top, ` +
    `on ${heat.tasks.length} tasks` + (content.shown.of > content.shown.tasks ? ` (of ${content.shown.of})` : "") +
    ", similar ones side by side, scaled by task. Full cells were measured; narrow ones are predicted. The rows of the start are framed and named; " +
    (heat.of > heat.shown ? `the others are ${heat.shown} of the ${heat.of.toLocaleString("en")} configurations of the history, evenly from the best to the worst.` : "the others are those of the history."));
  colourKey(box, "", "0, the best of a task", "1, the worst");
  const label = `Heat map of the losses of ${rows.length} configurations on ${heat.tasks.length} tasks`;
  const name = (row, narrow) => row.start ? (narrow ? `start ${row.start}` : `start ${row.start}: ${words(row.config)}`) : (narrow ? String(rows.indexOf(row) + 1) : words(row.config));
  const rank = content.slices.map(slice => slice.name);  // the parameters that matter most come first
  const brief = config => Object.entries(config).filter(([, v]) => v !== null).sort(([a], [b]) => rank.indexOf(a) - rank.indexOf(b))
    .map(([k, v]) => `${k} ${typeof v === "number" ? Number(v.toPrecision(3)) : v}`);
  const figure = chart(box, "heat", label, () => [["configuration", ...heat.tasks], rows.map(row =>
    [name(row, false), ...row.loss.map((loss, j) => loss.toFixed(2) + (row.measured[j] ? "" : " (predicted)"))])],
  (svg, width) => {
    const narrow = width < 640, left = narrow ? 68 : width < 900 ? 290 : 340, step = printing ? 12 : 16, cell = (width - left - 4) / heat.tasks.length;
    const names = heat.tasks.map(task => cut(task, 18)), labelled = cell >= 13;
    const top = labelled ? Math.ceil(Math.max(...names.map(wide))) + 12 : 24, height = top + step * rows.length + 6;
    const canvas = document.createElement("canvas"), scale = 3;
    canvas.width = Math.ceil(cell * heat.tasks.length * scale); canvas.height = step * rows.length * scale;
    const brush = canvas.getContext("2d");
    rows.forEach((row, i) => row.loss.forEach((loss, j) => {
      brush.fillStyle = colourAt(loss);
      const inset = row.measured[j] ? 0 : cell * .22, gap = row.measured[j] ? .4 : 3.5;
      brush.fillRect((j * cell + inset) * scale, (i * step + gap) * scale, (cell - 2 * inset) * scale, (step - 2 * gap) * scale);
    }));
    shape("image", {href: canvas.toDataURL(), x: left, y: top, width: cell * heat.tasks.length, height: step * rows.length, preserveAspectRatio: "none"}, svg);
    rows.forEach((row, i) => {
      const y = top + i * step;
      if (row.start) shape("rect", {class: "start", x: left - 1, y: y - .5, width: width - left - 2, height: step, fill: "none", stroke: "var(--mark)", "stroke-width": row.start - 1 === picked ? 3.5 : 1.6}, svg);
      shape("text", {class: row.start ? "rowname mark" : "rowname", x: left - 6, y: y + step - (printing ? 2 : 4), "text-anchor": "end"}, svg,
        narrow ? name(row, true) : fittedParts(row.start ? `start ${row.start}: ` : "", brief(row.config), left - 10));
    });
    if (labelled) names.forEach((text, j) => {
      const x = left + (j + .5) * cell + 4;
      shape("text", {class: "column", x, y: top - 5, transform: `rotate(-90 ${x} ${top - 5})`}, svg, text);
    });
    else shape("text", {x: left, y: 14}, svg, fitted(`${heat.tasks.length} tasks, similar ones side by side`, width - left));
    const cover = shape("rect", {x: left, y: top, width: cell * heat.tasks.length, height: step * rows.length, fill: "transparent"}, svg);
    cover.addEventListener("pointermove", event => {
      const frame = cover.getBoundingClientRect();
      const j = Math.floor((event.clientX - frame.left) / frame.width * heat.tasks.length), i = Math.floor((event.clientY - frame.top) / frame.height * rows.length);
      if (rows[i]?.loss[j] === undefined) return hideTip();
      showTip(`${heat.tasks[j]}\n${cut(name(rows[i], false), 160)}\nloss ${rows[i].loss[j].toFixed(3)}, ${rows[i].measured[j] ? "measured" : "predicted"}`, event.clientX, event.clientY);
    });
    cover.addEventListener("pointerleave", hideTip);
    return height;
  });
  chooseable.push(pictures.at(-1));
  return figure;
};

// -- the parameters -------------------------------------------------------------------------------------------

// Places for numbered marks: at their points, or next to them where another mark is in the way.
const apart = (points, [left, top, right, bottom]) => {
  const placed = [];
  for (const [x, y] of points) {
    const tries = [[x, y]];
    for (const radius of [14, 20, 28, 38, 50])
      for (const angle of [270, 315, 225, 0, 180, 45, 135, 90])
        tries.push([x + radius * Math.cos(angle * Math.PI / 180), y + radius * Math.sin(angle * Math.PI / 180)]);
    const inside = ([a, b], k) => k === 0 || (a >= left + 8 && a <= right - 8 && b >= top + 8 && b <= bottom - 8);
    placed.push(tries.find((at, k) => inside(at, k) && placed.every(([a, b]) => Math.hypot(at[0] - a, at[1] - b) >= 13)) ?? [x, y]);
  }
  return placed;
};

const drawParameters = () => {
  const box = section("Which parameters matter, and where", "Importance: the share of the variance within a task that a " +
    "parameter explains alone. Below it is the loss along each parameter, averaged over all others and over the tasks (band: " +
    "the middle half of the tasks; lower is better). Numbered marks are the configurations of the start.");
  const shown = content.slices.slice(0, 20);
  chart(box, "importance", `Importance: ${shown.map(s => `${s.name} ${(100 * s.importance).toFixed(0)}%`).join(", ")}`,
    () => [["parameter", "importance"], shown.map(s => [s.name, `${(100 * s.importance).toFixed(1)}%`])],
  (svg, width) => {
    const step = 26, left = Math.min(width * .4, Math.max(...shown.map(s => wide(s.name))) + 12), height = step * shown.length + 6;
    const most = Math.max(.01, ...shown.map(s => s.importance));
    shown.forEach((s, i) => {
      const y = 4 + i * step, long = (width - left - 60) * s.importance / most;
      shape("text", {x: left - 8, y: y + 15, "text-anchor": "end"}, svg, fitted(s.name, left - 8));
      shape("rect", {x: left, y: y + 3, width: Math.max(1, long), height: step - 9, fill: "var(--accent)", rx: 2}, svg);
      shape("text", {x: left + long + 6, y: y + 15}, svg, `${(100 * s.importance).toFixed(s.importance < .1 ? 1 : 0)}%`);
    });
    return height;
  });
  const many = element("div", undefined, box, "many"), high = Math.max(.05, ...content.slices.flatMap(s => [...s.high, ...s.start.map(p => p.y)])) * 1.05;
  many.style.marginTop = "18px";
  content.slices.forEach((slice, k) => {
    const one = element("div", undefined, many);
    element("h3", slice.name, one);
    chart(one, `slice-${k}`, `Loss along ${slice.name}; the start uses ${slice.start.map(p => short(p.x)).join(", ") || "nothing"}`, sliceTable(slice),
      slicePicture(slice, "loss", (svg, X, Y, frame) => {
        const points = slice.start.map(p => {
          const same = slice.choices ? slice.start.filter(other => other.x === p.x) : [p];  // side by side on one choice
          return [X(p.x) + (same.indexOf(p) - (same.length - 1) / 2) * Math.min(17, 84 / same.length), Y(p.y)];
        });
        const places = apart(points, frame);
        places.forEach(([x, y], k) => {
          const [px, py] = points[k];
          if (Math.hypot(x - px, y - py) < 4) return;
          shape("line", {class: "leader", x1: px, y1: py, x2: x, y2: y}, svg);
          shape("circle", {cx: px, cy: py, r: 2.5, fill: "var(--mark)"}, svg);
        });
        slice.start.forEach((p, k) => {
          const [x, y] = places[k], chosen = p.i - 1 === picked, mark = shape("g", {class: "mark"}, svg);
          shape("circle", {cx: x, cy: y, r: chosen ? 11 : 8, fill: "#c24e00", stroke: chosen ? "var(--ink)" : "var(--card)", "stroke-width": chosen ? 2.5 : 1}, mark);
          shape("text", {class: "inside", x, y: y + 3.5, "text-anchor": "middle"}, mark, String(p.i));
          hint(mark, `start ${p.i}: ${slice.name} = ${short(p.x)}\nexpected loss ${p.y.toFixed(3)}`);
        });
      }, 0, high));
    chooseable.push(pictures.at(-1));
  });
};

const drawNotes = () => {
  const box = section("Notes on the data", "");
  box.classList.add("notes");
  const list = (title, lines) => {
    element("h3", title, box);
    const made = element("ul", undefined, box, "plain");
    lines.forEach(text => element("li", text, made));
  };
  list("What was read", content.left_out.length ? content.left_out : ["Nothing was skipped on import."]);
  list("The search space", content.facts.parameters);
};

drawAnswer(); drawEvidence(); drawTime(); drawStart(); drawMap(); drawHeat(); drawParameters(); drawNotes();
begin();
