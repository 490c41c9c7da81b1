// Scatter plots, histograms and curves as SVG. A point opens its text; a loop drawn by hand chooses those inside it.
import { count, h, inWords, number, roving, svg, visible } from "./base.js";
import { corners, drawing as drawn, holds } from "./lasso.js";

const SIZE = { width: 360, height: 250, left: 46, right: 10, top: 10, bottom: 36 };

/** Round numbers between two ends. */
export function ticks(low, high, wanted = 5) {
  const raw = (high - low) / wanted || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= raw);
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, i) => Number(((first + i) * step).toPrecision(10)));
}

/** The ends of an axis: those of its scale where it has such, or of the values, with some room around. */
export function ends(values, scale = {}) {
  let low = scale.low ?? Infinity;
  let high = scale.high ?? -Infinity;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return [0, 1];
  const room = (high - low || Math.abs(high) || 1) * 0.04;
  return [low - room, high + room];
}

const linear = ([low, high], [from, to]) => {
  const scale = (value) => from + ((value - low) / (high - low || 1)) * (to - from);
  scale.back = (at) => low + ((at - from) / (to - from)) * (high - low);
  scale.ends = [low, high];
  return scale;
};

function frame({ x, y, xName, yName, label, size = SIZE }) {
  const scaleX = linear(x, [size.left, size.width - size.right]);
  const scaleY = linear(y, [size.height - size.bottom, size.top]);
  const base = size.height - size.bottom;
  const xTicks = ticks(...x).map((tick) => [
    svg("line", { class: "axis", x1: scaleX(tick), x2: scaleX(tick), y1: base, y2: base + 4 }),
    svg("text", { x: scaleX(tick), y: base + 15, "text-anchor": "middle" }, short(tick)),
  ]);
  const yTicks = ticks(...y).map((tick) => [
    svg("line", { class: "axis", x1: size.left, x2: size.width - size.right, y1: scaleY(tick), y2: scaleY(tick) }),
    svg("text", { x: size.left - 5, y: scaleY(tick) + 4, "text-anchor": "end" }, short(tick)),
  ]);
  const drawing = svg(
    "svg",
    { viewBox: `0 0 ${size.width} ${size.height}`, role: "img", "aria-label": label },
    yTicks,
    xTicks,
    svg("line", { class: "axis", x1: size.left, x2: size.width - size.right, y1: base, y2: base }),
    svg("text", { x: (size.left + size.width - size.right) / 2, y: size.height - 4, "text-anchor": "middle" }, visible(xName, 60)),
    svg("text", { x: 0, y: 0, transform: `translate(11 ${(size.top + base) / 2}) rotate(-90)`, "text-anchor": "middle" }, visible(yName, 40)),
  );
  return { drawing, scaleX, scaleY, size };
}

const short = (tick) => (Math.abs(tick) >= 10000 ? `${tick / 1000}k` : String(tick)).replace("-", "−");

/**
 * A scatter plot of {points: [{row, x, y, class}], x: {title, low, high}, y, total, bins}.
 *
 * open(row): a point was pressed. choose(selection): {loop} or {range} was drawn, or null.
 * The panel's mark(rows) highlights those rows; null takes the highlight off. outline(selection) shows what was drawn.
 */
export function scatter(container, plot, { open = null, choose = null, title = (point) => point.row } = {}) {
  const points = plot.points.filter((point) => Number.isFinite(point.x) && Number.isFinite(point.y)).sort((a, b) => a.x - b.x || a.y - b.y);
  const x = ends(points.map((point) => point.x), plot.x);
  const y = ends(points.map((point) => point.y), plot.y);
  const label = `${visible(plot.title ?? plot.name, 120)} ${count(plot.total ?? points.length)} texts; arrow keys walk along its points, and the list below holds the same.`;
  const { drawing, scaleX, scaleY } = frame({ x, y, xName: plot.x.title, yName: plot.y.title, label });
  if (plot.bins) drawing.append(...counted(plot.bins, scaleX, scaleY));
  const layer = svg("g", {});
  const dots = points.map((point) => {
    const name = visible(`${title(point)}: ${number(point.x)}, ${number(point.y)}`, 200);
    const door = open ? { role: "link", tabindex: -1, "aria-label": name } : {};
    const place = { cx: scaleX(point.x).toFixed(1), cy: scaleY(point.y).toFixed(1), r: points.length > 800 ? 2.2 : 3 };
    return svg("circle", { class: `point k${kind(point.class)}`, ...place, "data-row": point.row, ...door }, svg("title", {}, name));
  });
  const shape = svg("polygon", { class: "lasso" });
  layer.append(...dots);
  drawing.append(layer);
  container.append(drawing);
  if (open) walked(drawing, layer, open);
  drawn(drawing, { x: scaleX, y: scaleY }, {
    done: choose,
    pressed: (target, at) => {
      const dot = target.closest?.(".point") ?? near(dots, at);
      if (dot && open) open(Number(dot.dataset.row));
      else if (choose) choose(null);
    },
  });
  return {
    inside: (selection) => points.filter((point) => holds(selection, point.x, point.y)).map((point) => point.row),
    mark(rows) {
      layer.classList.toggle("has-selection", rows !== null);
      for (const dot of dots) dot.classList.toggle("in", rows !== null && rows.has(Number(dot.dataset.row)));
    },
    outline(selection) {
      shape.remove();
      if (!selection) return;
      shape.setAttribute("points", corners(selection, x, y).map(([u, v]) => `${scaleX(u).toFixed(1)},${scaleY(v).toFixed(1)}`).join(" "));
      drawing.append(shape);
    },
  };
}

/** The points by keyboard: one tab stop, arrow keys go on by x, Enter opens. */
function walked(drawing, layer, open) {
  drawing.setAttribute("role", "group");
  roving(layer, ".point", { keys: ["ArrowLeft", "ArrowRight"] });
  layer.addEventListener("keydown", (event) => {
    if (event.key === "Enter") open(Number(event.target.closest(".point").dataset.row));
  });
  layer.addEventListener("click", (event) => {
    if (event.detail === 0) open(Number(event.target.closest(".point").dataset.row)); // by a screen reader, without a pointer
  });
}

const kind = (value) => (Number.isInteger(value) ? Math.abs(value) % 4 : 0);

/** The point nearest to a press, if one lies within some pixels of the drawing. */
function near(dots, [x, y]) {
  let best = null;
  let least = 64;
  for (const dot of dots) {
    const far = (dot.cx.baseVal.value - x) ** 2 + (dot.cy.baseVal.value - y) ** 2;
    if (far < least) [best, least] = [dot, far];
  }
  return best;
}

/** How many texts lie where, behind the points, where not all are drawn: {x: edges, y: edges, cells: [[i, j, count]]}. */
function counted({ x, y, cells }, scaleX, scaleY) {
  const most = Math.max(...cells.map(([, , found]) => found));
  return cells.map(([i, j, found]) =>
    svg(
      "rect",
      { class: "bin", x: scaleX(x[i]), y: scaleY(y[j + 1]), width: scaleX(x[i + 1]) - scaleX(x[i]), height: scaleY(y[j]) - scaleY(y[j + 1]), "fill-opacity": (0.1 + 0.6 * Math.sqrt(found / most)).toFixed(3) },
      svg("title", {}, `${count(found)} texts`),
    ),
  );
}

/** A ROC curve of {line: [[x, y], …], members: [{x, y, faithful, name}]}; hovering over a point names its model. */
export function curve(container, { line, members, x, y, title }) {
  const size = { ...SIZE, width: 300, height: 270 };
  const label = `${visible(title, 160)}: ROC curve; the list below holds its ${members.length} models.`;
  const { drawing, scaleX, scaleY } = frame({ x: [0, 1], y: [0, 1], xName: x, yName: y, label, size });
  const path = line.map(([u, v]) => `${scaleX(u).toFixed(1)},${scaleY(v).toFixed(1)}`).join(" ");
  drawing.append(
    svg("line", { class: "diagonal", x1: scaleX(0), y1: scaleY(0), x2: scaleX(1), y2: scaleY(1) }),
    svg("polyline", { class: "curve", points: path }),
    ...members.map((member) => svg("circle", { class: `point${member.faithful ? "" : " k1"}`, cx: scaleX(member.x), cy: scaleY(member.y), r: 2.6 }, svg("title", {}, visible(member.name, 200)))),
  );
  container.append(drawing);
}

/** A small scatter plot, without numbers: scales are shared by all of a grid. */
export function small(points, { x, y }, label) {
  const [width, height] = [126, 84];
  const scaleX = linear(x, [3, width - 3]);
  const scaleY = linear(y, [height - 3, 3]);
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    svg("path", { class: "axis", d: `M1 1V${height - 1}H${width - 1}`, fill: "none" }),
    points.map((point) => svg("circle", { class: `point k${kind(point.class)}`, cx: scaleX(point.x).toFixed(1), cy: scaleY(point.y).toFixed(1), r: 1.7 })),
  );
}

/** A small picture of counts, without axes. */
export function spark(counts, label) {
  const width = 126;
  const height = 44;
  const most = Math.max(1, ...counts);
  const each = width / Math.max(counts.length, 1);
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: label ? "img" : null, "aria-label": label || null, "aria-hidden": label ? null : "true" },
    counts.map((value, i) => svg("rect", { class: "spark", x: i * each, width: Math.max(each - 0.8, 0.4), y: height - 1 - (value / most) * (height - 4), height: (value / most) * (height - 4) })),
    svg("line", { class: "axis", x1: 0, x2: width, y1: height - 0.5, y2: height - 0.5 }),
  );
}

/** What the colours of points stand for. */
export const classKeys = (classes) =>
  h("p", { class: "keys" }, classes.slice(0, 4).map((name, i) => h("span", {}, h("span", { class: `dot k${i}` }), inWords(name))));
