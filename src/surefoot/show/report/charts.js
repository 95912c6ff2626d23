// Charts as SVG, drawn to the width that there is, coloured by the style sheet alone.

const steps = (low, high, count) => {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9));
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k += 1)
    found.push(Number((k * step).toPrecision(12)));
  return found;
};

/** From values to pixels. */
const scale = (low, high, from, to) => (value) => from + ((value - low) / (high - low || 1)) * (to - from);
const at = (value) => value.toFixed(1);

function sheet(host, height, label) {
  const across = Math.max(host.clientWidth || 640, 240);
  const svg = drawn("svg", { viewBox: `0 0 ${across} ${height}`, role: "img", "aria-label": label });
  host.replaceChildren(svg);
  return { svg, across, height };
}

const words = (x, y, text, attributes = {}) => drawn("text", { x: at(x), y: at(y), ...attributes }, text);
const line = (x1, y1, x2, y2, kind) => drawn("line", { x1: at(x1), y1: at(y1), x2: at(x2), y2: at(y2), class: kind });

function levels(svg, y, low, high, left, right, format = plainNumber) {
  for (const value of steps(low, high, 5)) {
    svg.append(line(left, y(value), right, y(value), value === 0 ? "zero" : "grid"));
    svg.append(words(left - 6, y(value) + 4, minus(format(value)), { "text-anchor": "end", class: "tick" }));
  }
}

/**
 * Sorted values as bars, gains and losses each one path, so that thousands cost no more than ten.
 * `mark(index)` is true where a bar stands out, `rule` a level to draw, `pick(index)` is called on a click.
 */
function bars(host, { list, label, mark, rule, pick, name, height = 220 }) {
  const { svg, across } = sheet(host, height, label);
  const low = Math.min(0, ...extent(list));
  const high = Math.max(0, ...extent(list), rule ? rule.value : 0);
  const [left, right, top, bottom] = [48, across - 8, 14, height - 14];
  const y = scale(low, high === low ? low + 1 : high, bottom, top);
  levels(svg, y, low, high, left, right);
  const step = (right - left) / list.length;
  const thick = Math.max(step * 0.82, Math.min(step, 0.6));
  const paths = { gain: "", loss: "", "gain marked": "", "loss marked": "" };
  list.forEach((value, index) => {
    const kind = (value < 0 ? "loss" : "gain") + (mark(index) ? " marked" : "");
    paths[kind] +=
      `M${(left + index * step).toFixed(2)} ${at(y(0))}V${at(y(value))}h${thick.toFixed(2)}V${at(y(0))}Z`;
  });
  for (const [kind, path] of Object.entries(paths)) if (path) svg.append(drawn("path", { d: path, class: kind }));
  if (rule) {
    svg.append(line(left, y(rule.value), right, y(rule.value), "rule"));
    svg.append(words(right, y(rule.value) - 5, rule.name, { "text-anchor": "end", class: "rule-name" }));
  }
  follow(svg, across, (x) => Math.floor((x - left) / step), list, name, pick);
}

/** Names the bar under the pointer, and goes to it on a click. */
function follow(svg, across, indexAt, list, name, pick) {
  const tip = drawn("title");
  svg.append(tip);
  const index = (event) => {
    const box = svg.getBoundingClientRect();
    const found = indexAt(((event.clientX - box.left) / box.width) * across);
    return found >= 0 && found < list.length ? found : null;
  };
  svg.addEventListener("pointermove", (event) => {
    const found = index(event);
    tip.textContent = found === null ? "" : name(found);
  });
  svg.addEventListener("click", (event) => {
    const found = index(event);
    if (found !== null) pick(found);
  });
}

function extent(list) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of list) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return Number.isFinite(low) ? [low, high] : [0, 1];
}

/** Intervals around 0, one below the other: where the truth may lie. */
function intervals(host, rows, label) {
  const { svg, across } = sheet(host, 26 + 34 * rows.length, label);
  const ends = rows.flatMap((row) => [row.low, row.high]).filter(Number.isFinite);
  const reach = Math.max(...ends.map(Math.abs), 1e-9) * 1.15;
  const x = scale(-reach, reach, 8, across - 8);
  svg.append(line(x(0), 4, x(0), 8 + 34 * rows.length, "zero"));
  rows.forEach((row, index) => {
    const y = 26 + 34 * index;
    const kind = row.sign > 0 ? "gain" : row.sign < 0 ? "loss" : "unsure";
    svg.append(line(x(row.low), y, x(row.high), y, `interval ${kind}`));
    svg.append(drawn("circle", { cx: at(x(row.value)), cy: y, r: 5, class: kind }));
    svg.append(words(8, y - 10, row.name, { class: "tick over" }));
  });
  const below = 22 + 34 * rows.length;
  svg.append(words(x(0) - 10, below, "← worse", { "text-anchor": "end", class: "tick" }));
  svg.append(words(x(0) + 10, below, "better →", { class: "tick" }));
}

/** How many queries lost or gained how much of what they had. */
function histogram(host, bins, label) {
  const height = 210;
  const { svg, across } = sheet(host, height, label);
  const [left, right, top, bottom] = [8, across - 8, 20, height - 44];
  const y = scale(0, Math.max(...bins.map((bin) => bin.count), 1), bottom, top);
  const step = (right - left) / bins.length;
  bins.forEach((bin, index) => {
    const x = left + index * step;
    svg.append(
      drawn("rect", {
        x: at(x + 1),
        y: at(y(bin.count)),
        width: at(step - 2),
        height: at(bottom - y(bin.count)),
        class: bin.kind,
      }),
    );
    if (bin.count)
      svg.append(
        words(x + step / 2, y(bin.count) - 5, integer(bin.count), { "text-anchor": "middle", class: "tick" }),
      );
    const small = { "text-anchor": "middle", class: "tick small" };
    svg.append(words(x + step / 2, bottom + 15, bin.from, small));
    if (step > 58) svg.append(words(x + step / 2, bottom + 28, bin.to, small));
  });
  svg.append(line(left, bottom, right, bottom, "zero"));
  if (step <= 58)
    svg.append(
      words((left + right) / 2, bottom + 34, "from this change on, in %", {
        "text-anchor": "middle",
        class: "tick small",
      }),
    );
}

/** The range to draw: that of all lines, but for a few that lie far below the others; the special ones are whole. */
function fair(series, special) {
  const ends = (list) => extent(list.flatMap((one) => one.list.filter(Number.isFinite)));
  const lows = series.map((one) => extent(one.list.filter(Number.isFinite))[0]).sort((a, b) => a - b);
  const [low, high] = ends(series);
  if (lows.length < 5) return [low, high];
  const quarter = (part) => lows[Math.floor(part * (lows.length - 1))];
  const fence = quarter(0.25) - 1.5 * (quarter(0.75) - quarter(0.25));
  const kept = ends(series.filter((one) => special.has(one.name)));
  const usual = lows.find((value) => value >= fence);
  return [Math.min(usual, kept[0]), high];
}

/** Lines over alpha: chosen system and baseline in colour, all others in grey. Returns how to move the marker. */
function curves(host, { alphas, series, special, rules, label, pick }) {
  const height = 320;
  const { svg, across } = sheet(host, height, label);
  const [low, high] = fair(series, special);
  const inside = (value) => Math.min(Math.max(value, low), high);
  const [left, right, top, bottom] = [52, across - 12, 14, height - 34];
  const x = scale(0, alphas[alphas.length - 1], left, right);
  const y = scale(low, high === low ? low + 1 : high, bottom, top);
  levels(svg, y, low, high, left, right);
  for (const value of steps(0, alphas[alphas.length - 1], across < 480 ? 4 : 10)) {
    svg.append(words(x(value), bottom + 18, plainNumber(value), { "text-anchor": "middle", class: "tick" }));
  }
  svg.append(words((left + right) / 2, height - 2, "alpha", { "text-anchor": "middle", class: "tick" }));
  for (const value of rules.filter((rule) => rule > low && rule < high))
    svg.append(line(left, y(value), right, y(value), "rule"));
  const path = (one) => one.list.map((value, k) => `${k ? "L" : "M"}${at(x(alphas[k]))} ${at(y(inside(value)))}`).join("");
  const defined = series.filter((one) => one.list.every(Number.isFinite));
  svg.append(
    drawn("path", {
      d: defined
        .filter((one) => !special.has(one.name))
        .map(path)
        .join(""),
      class: "curve others",
    }),
  );
  for (const one of defined.filter((each) => special.has(each.name)))
    svg.append(drawn("path", { d: path(one), class: `curve ${special.get(one.name)}` }));
  for (const one of defined.filter((each) => special.has(each.name))) {
    const end = y(one.list[one.list.length - 1]);
    svg.append(words(right - 2, Math.max(end - 7, top + 8), one.name, { "text-anchor": "end", class: "point" }));
  }
  const marker = line(left, top, left, bottom, "marker");
  svg.append(marker);
  nearest(svg, across, defined, (k, value) => [x(alphas[k]), y(inside(value))], pick);
  return (alpha) => {
    marker.setAttribute("x1", at(x(alpha)));
    marker.setAttribute("x2", at(x(alpha)));
  };
}

/** Names the line nearest to the pointer, and goes to its system on a click. */
function nearest(svg, across, series, point, pick) {
  const tip = drawn("title");
  svg.append(tip);
  const find = (event) => {
    const box = svg.getBoundingClientRect();
    const [px, py] = [
      ((event.clientX - box.left) / box.width) * across,
      ((event.clientY - box.top) / box.width) * across,
    ];
    let best = { gap: 900, name: null };
    for (const one of series) {
      one.list.forEach((value, k) => {
        const [cx, cy] = point(k, value);
        const gap = (cx - px) ** 2 + (cy - py) ** 2;
        if (gap < best.gap) best = { gap, name: one.name };
      });
    }
    return best.name;
  };
  svg.addEventListener("pointermove", (event) => {
    tip.textContent = find(event) ?? "";
  });
  svg.addEventListener("click", (event) => {
    const name = find(event);
    if (name !== null) pick(name);
  });
}

/** Systems and virtual runs on two axes; those of `special` carry their names. */
function scatter(host, { points, special, axes, label, pick }) {
  const height = Math.min(420, Math.max(300, (host.clientWidth || 640) * 0.55));
  const { svg, across } = sheet(host, height, label);
  const [left, right, top, bottom] = [52, across - 16, 14, height - 40];
  const [x0, x1] = extent(points.map((point) => point.x));
  const [y0, y1] = extent(points.map((point) => point.y));
  const [mx, my] = [(x1 - x0 || 1) * 0.06, (y1 - y0 || 1) * 0.08];
  const x = scale(x0 - mx, x1 + mx, left, right);
  const y = scale(y0 - my, y1 + my, bottom, top);
  levels(svg, y, y0 - my, y1 + my, left, right);
  for (const value of steps(x0 - mx, x1 + mx, across < 480 ? 3 : 6)) {
    svg.append(words(x(value), bottom + 18, minus(plainNumber(value)), { "text-anchor": "middle", class: "tick" }));
  }
  svg.append(words((left + right) / 2, height - 2, axes[0], { "text-anchor": "middle", class: "tick" }));
  svg.append(words(left, top - 3, axes[1], { class: "tick" }));
  const order = [...points].sort((a, b) => special.has(a.name) - special.has(b.name));
  for (const point of order) {
    const kind = special.get(point.name) ?? "others";
    const dot = point.virtual
      ? drawn("rect", { x: at(x(point.x) - 5), y: at(y(point.y) - 5), width: 10, height: 10, class: `dot ${kind}` })
      : drawn("circle", {
          cx: at(x(point.x)),
          cy: at(y(point.y)),
          r: special.has(point.name) ? 6 : 4.5,
          class: `dot ${kind}`,
          onclick: () => pick(point.name),
        });
    dot.append(drawn("title", {}, point.name));
    svg.append(dot);
    if (special.has(point.name)) {
      const end = x(point.x) > across * 0.7;
      svg.append(
        words(x(point.x) + (end ? -10 : 10), y(point.y) - 8, point.name, {
          class: `point ${kind}`,
          "text-anchor": end ? "end" : "start",
        }),
      );
    }
  }
}
