// The page about one study: what its start was worth, which past tasks it follows, what it believes, what comes next.

const ORIGINS = {start: ["start", COLOURS[1]], strategy: ["start", COLOURS[1]], surrogate: ["surrogate", COLOURS[0]],
                 random: ["spread at random", GREY], "": ["another sampler, or queued", GREY]};
const originOf = trial => trial.start !== null ? ORIGINS.start : ORIGINS[trial.origin] ?? ORIGINS[""];
const maximised = content.facts.direction === "maximize", metric = content.about.metric || "value";
const said = value => value === null ? "–" : short(value);

const drawAnswer = () => {
  const verdict = content.verdict, box = section("", "", `verdict ${verdict.answer}`), states = content.facts;
  $("subtitle").textContent = "One study, and how its search goes on";
  element("h2", "What was the start worth?", box);
  element("p", verdict.headline, box, "answer");
  element("p", verdict.says, box, "says");
  if (content.best) element("p", `The best so far is trial ${content.best.number} with ${short(content.best.value)}: ${words(content.best.config)}.`, box, "says");
  const others = ["running", "failed", "pruned", "waiting"].filter(state => states[state]).map(state => `${states[state]} ${state}`);
  facts(box, [["date", content.about.date], ["source", content.about.source], ["metric", content.about.metric],
              ["direction", maximised ? "higher is better" : "lower is better"], ["complete trials", states.complete],
              ["other trials", others.join(", ")], ["trials of the start", states.starts], ["past tasks", content.follows.tasks]]);
  content.stuck.forEach(text => element("p", text, box, "not"));
};

const drawTrials = () => {
  const known = content.trials.filter(trial => trial.value !== null);
  if (!known.length) return;
  const box = section("The trials", "Every result, and the best so far. Trials without a result are not shown.");
  const used = [...new Map(known.map(trial => originOf(trial)).map(origin => [origin[0], origin])).values()];
  legend(box, [...used.map(([name, colour]) => [name, colour, "dot"]), ["best so far", "var(--ink)"]]);
  let best = null;
  const bests = known.map(trial => best = best === null ? trial.value : maximised ? Math.max(best, trial.value) : Math.min(best, trial.value));
  chart(box, "trials", `${known.length} results; the best is ${short(content.best.value)}`, () => [["trial", "value", "best so far", "from", "why"],
    known.map((trial, i) => [String(trial.number), short(trial.value), short(bests[i]), originOf(trial)[0], trial.why || "–"])], (svg, width) => {
    const height = width < 600 || printing ? 280 : 340, values = known.map(trial => trial.value).sort((a, b) => a - b);
    let [low, high] = [values[0], values.at(-1)];
    const pad = (high - low || Math.abs(high) || 1) * .06;
    const {X, Y} = axes(svg, width, height, {x: (a, b) => linear(0, Math.max(1, ...known.map(t => t.number)), a, b, 40, true),
      y: (a, b) => linear(low - pad, high + pad, a, b, 40), xTitle: "trial", yTitle: metric});
    const steps = [];
    known.forEach((trial, i) => { if (i) steps.push([X(trial.number), Y(bests[i - 1])]); steps.push([X(trial.number), Y(bests[i])]); });
    shape("path", {d: path(steps), fill: "none", stroke: "var(--ink)", "stroke-width": 2}, svg);
    known.forEach(trial => hint(shape("circle", {cx: X(trial.number), cy: Y(trial.value), r: 5, fill: originOf(trial)[1], stroke: "var(--card)"}, svg),
      `trial ${trial.number}: ${short(trial.value)}\n${cut(words(trial.config), 160)}` + (trial.why ? `\n${cut(trial.why, 220)}` : "")));
    return height;
  });
};

const drawStart = () => {
  if (!content.start.length) return;
  const box = section("The start", "The configurations that were learned from past runs, and what came of them.");
  table(box, ["start", "trial", "state", metric, "configuration"], content.start.map(one => [String(one.start), String(one.trial),
    one.state + (one.changed.length ? ` (changed: ${one.changed.join(", ")})` : ""), said(one.value), words(one.config)]), "cards");
};

const drawFollows = () => {
  const follows = content.follows, box = section("Which past tasks it follows", follows.text);
  if (!follows.weights.length) return;
  chart(box, "weights", `Weights: ${follows.weights.map(([task, w]) => `${task} ${(100 * w).toFixed(0)}%`).join(", ")}`,
    () => [["past task", "weight"], follows.weights.map(([task, w]) => [task, `${(100 * w).toFixed(1)}%`])], (svg, width) => {
    const step = 26, left = Math.min(width * .45, Math.max(...follows.weights.map(([task]) => wide(task))) + 12);
    const most = Math.max(.01, ...follows.weights.map(([, w]) => w));
    follows.weights.forEach(([task, w], i) => {
      const y = 4 + i * step, long = (width - left - 60) * w / most;
      shape("text", {x: left - 8, y: y + 15, "text-anchor": "end"}, svg, fitted(task, left - 8));
      shape("rect", {x: left, y: y + 3, width: Math.max(1, long), height: step - 9, fill: "var(--accent)", rx: 2}, svg);
      shape("text", {x: left + long + 6, y: y + 15}, svg, `${(100 * w).toFixed(w < .1 ? 1 : 0)}%`);
    });
    return step * follows.weights.length + 6;
  });
};

// The range of all slices: the results without the worst tenth, and half as much again on either side, as far as
// predictions reach. A prediction far from all trials may be off by orders of magnitude, and would hide the rest.
const around = () => {
  const ys = content.trials.map(trial => trial.value).filter(y => y !== null).sort((a, b) => maximised ? b - a : a - b);
  const [best, worst] = [ys[0], ys[Math.ceil(.9 * (ys.length - 1))]], more = (Math.abs(worst - best) || Math.abs(best) || 1) / 2;
  const all = [...ys, ...content.slices.flatMap(slice => [...slice.low, ...slice.high])];
  return [Math.max(Math.min(best, worst) - more, Math.min(...all)), Math.min(Math.max(best, worst) + more, Math.max(...all))];
};

const drawBeliefs = () => {
  if (!content.slices.length) return;
  const box = section("What the surrogate believes", `The predicted ${metric} along each parameter, all others as in the best trial ` +
    "(band: one standard deviation; where little is known, it reaches beyond the picture). Dots are the trials, which differ " +
    "in the other parameters, too.");
  const many = element("div", undefined, box, "many"), [low, high] = around();
  content.slices.forEach((slice, k) => {
    const one = element("div", undefined, many);
    element("h3", slice.name, one);
    chart(one, `slice-${k}`, `Predicted ${metric} along ${slice.name}`, sliceTable(slice), slicePicture(slice, metric, (svg, X, Y) =>
      slice.points.forEach(p => hint(shape("circle", {cx: X(p.x), cy: Y(p.y), r: 4, fill: COLOURS[1], opacity: .75}, svg), `trial ${p.i}: ${short(p.y)}\n${slice.name} = ${short(p.x)}`)),
      low, high));
  });
};

const drawNext = () => {
  const box = section("What comes next", "The configurations that the search would try now, in this order, if no running trial ended before.");
  if (content.next.length) table(box, ["number", ...content.names, "why"], content.next.map((one, i) => [String(i + 1),
    ...content.names.map(name => one.config[name] === null ? null : short(one.config[name])), one.why]), content.names.length > 5 ? "always" : "cards");
  else element("p", "Nothing is left to propose, or the objective's parameters are not known yet.", box);
};

const drawSpace = () => {
  if (!content.parameters.length) return;
  const made = element("ul", undefined, section("The search space", ""), "plain");
  content.parameters.forEach(text => element("li", text, made));
};

drawAnswer(); drawTrials(); drawStart(); drawFollows(); drawBeliefs(); drawNext(); drawSpace();
begin();
