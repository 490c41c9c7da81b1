// A selection in a plot: a loop drawn by hand, or a rectangle. It is {loop: [[x, y], …]} or {range: [x0, x1, y0, y1]}, in the plot's numbers.
import { svg } from "./base.js";

/** The most corners of a loop: a link stays short. The server refuses more. */
export const CORNERS = 48;

/** What is chosen in a plot, as the address has it: "adversary:0,0.5,0.2,0.69", or "adversary:loop:0.1,0.2,0.4,0.2,0.3,0.5". */
export function parsedChoice(text) {
  const [plot, ...parts] = (text ?? "").split(":");
  const numbers = (parts.at(-1) ?? "").split(",").map((each) => (each.trim() === "" ? NaN : Number(each)));
  if (!plot || !numbers.every(Number.isFinite)) return null;
  if (parts.length === 1 && numbers.length === 4) return { plot, range: numbers };
  if (parts.length !== 2 || parts[0] !== "loop" || numbers.length % 2) return null;
  const loop = Array.from({ length: numbers.length / 2 }, (_, i) => [numbers[2 * i], numbers[2 * i + 1]]);
  return { plot, loop };
}

/** The same as a text. */
export const writtenChoice = ({ plot, range, loop }) => (range ? `${plot}:${range.join(",")}` : `${plot}:loop:${loop.flat().join(",")}`);

/** The same as the server is asked for it. */
export const askedChoice = ({ plot, range, loop }) =>
  range ? { plot, ...Object.fromEntries(["x0", "x1", "y0", "y1"].map((name, i) => [name, range[i]])) } : { plot, loop: loop.flat().join(",") };

/** Whether a point lies inside; the server decides alike, operation by operation. A loop that crosses itself holds all that it goes around. */
export function holds({ range, loop }, x, y) {
  if (range) return x >= range[0] && x <= range[1] && y >= range[2] && y <= range[3];
  let around = 0;
  for (let i = 0; i < loop.length; i += 1) {
    const [x0, y0] = loop[i];
    const [x1, y1] = loop[(i + 1) % loop.length];
    const side = (x1 - x0) * (y - y0) - (x - x0) * (y1 - y0);
    if (y0 <= y && y1 > y && side > 0) around += 1;
    if (y0 > y && y1 <= y && side < 0) around -= 1;
  }
  return around !== 0;
}

/** The corners of a selection, as far as the plot reaches: [[x, y], …] in its numbers. */
export function corners({ range, loop }, [xLow, xHigh], [yLow, yHigh]) {
  if (loop) return loop;
  const [x0, x1] = [Math.max(range[0], xLow), Math.min(range[1], xHigh)];
  const [y0, y1] = [Math.max(range[2], yLow), Math.min(range[3], yHigh)];
  return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
}

/** A drawn line with few corners: those that lie nearest to the line between others are left out, until few remain. */
export function simplified(line, most = CORNERS) {
  for (let within = 0.8; ; within *= 1.5) {
    const kept = farFrom(line, within);
    if (kept.length <= most) return kept;
  }
}

/** Ramer, Douglas & Peucker: of the points between the ends, the farthest from their line stays if it is farther than `within`. */
function farFrom(line, within) {
  const kept = new Set([0, line.length - 1]);
  const parts = [[0, line.length - 1]];
  while (parts.length) {
    const [from, to] = parts.pop();
    let [most, at] = [within, -1];
    for (let i = from + 1; i < to; i += 1) {
      const far = distance(line[i], line[from], line[to]);
      if (far > most) [most, at] = [far, i];
    }
    if (at < 0) continue;
    kept.add(at);
    parts.push([from, at], [at, to]);
  }
  return line.filter((_, i) => kept.has(i));
}

/** How far a point is from the line between two others. */
function distance([x, y], [x0, y0], [x1, y1]) {
  const length = (x1 - x0) ** 2 + (y1 - y0) ** 2;
  const share = length ? Math.min(1, Math.max(0, ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / length)) : 0;
  return Math.hypot(x - x0 - share * (x1 - x0), y - y0 - share * (y1 - y0));
}

/** A number to the thousandth part of its axis: a third of a pixel. */
function rounded(value, [low, high]) {
  const decimals = Math.min(12, Math.max(0, Math.ceil(Math.log10(1000 / (high - low || 1)))));
  return Number(value.toFixed(decimals));
}

/**
 * Draw with the pointer: a loop, or with Shift a rectangle; a press without a drag is a press.
 *
 * scales: {x, y}, with back(place) and ends. done(selection): {loop} or {range}, or null where nothing was surrounded.
 */
export function drawing(surface, scales, { done, pressed }) {
  const at = (event) => {
    const box = surface.getBoundingClientRect();
    const scale = surface.viewBox.baseVal.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  };
  const number = (axis, place) => rounded(scales[axis].back(place), scales[axis].ends);
  const selection = (line, square) => {
    const [from, to] = [line[0], line.at(-1)];
    const sorted = (axis, a, b) => [number(axis, a), number(axis, b)].sort((one, other) => one - other);
    if (square) return { range: [...sorted("x", from[0], to[0]), ...sorted("y", from[1], to[1])] };
    const loop = simplified(line).map(([x, y]) => [number("x", x), number("y", y)]);
    return loop.length < 3 ? null : { loop };
  };
  surface.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const { target, shiftKey: square } = event;
    const line = [at(event)];
    const shape = svg("polygon", { class: "lasso" });
    const move = (moved) => {
      const to = at(moved);
      const far = Math.hypot(to[0] - line.at(-1)[0], to[1] - line.at(-1)[1]);
      if (far < (shape.isConnected ? 1 : 5)) return;
      if (!shape.isConnected) surface.append(shape);
      line.push(to);
      const [[x0, y0], [x1, y1]] = [line[0], to];
      const points = square ? [[x0, y0], [x1, y0], [x1, y1], [x0, y1]] : line;
      shape.setAttribute("points", points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" "));
    };
    const end = (ended) => {
      surface.removeEventListener("pointermove", move);
      surface.removeEventListener("pointerup", end);
      surface.removeEventListener("pointercancel", end);
      const drawn = shape.isConnected;
      shape.remove();
      if (ended.type !== "pointerup") return;
      if (drawn) done?.(selection(line, square));
      else pressed(target, line[0]);
    };
    surface.setPointerCapture(event.pointerId);
    surface.addEventListener("pointermove", move);
    surface.addEventListener("pointerup", end);
    surface.addEventListener("pointercancel", end);
  });
}
