// The mathematics of attention weights, in double precision; divergences in nats.

/** Class probabilities of logits. */
export function softmax(logits) {
  const top = Math.max(...logits);
  const powers = logits.map((logit) => Math.exp(logit - top));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

/** The logits under these weights where the head is affine: Σ α_t z_t. */
export function mixed(weights, tokenLogits) {
  const logits = new Array(tokenLogits[0].length).fill(0);
  for (let place = 0; place < weights.length; place += 1)
    for (let label = 0; label < logits.length; label += 1) logits[label] += weights[place] * tokenLogits[place][label];
  return logits;
}

const toMiddle = (p, q) => p.reduce((sum, x, i) => (x > 0 ? sum + x * Math.log((2 * x) / (x + q[i])) : sum), 0);

/** The Jensen–Shannon divergence, between 0 and ln 2. */
export const jsd = (p, q) => Math.min(Math.max((toMiddle(p, q) + toMiddle(q, p)) / 2, 0), Math.LN2);

/** The total variation distance, half the sum of the differences. */
export const tvd = (p, q) => p.reduce((sum, x, i) => sum + Math.abs(x - q[i]), 0) / 2;

export const argmax = (values) => values.reduce((best, value, i) => (value > values[best] ? i : best), 0);

const total = (values) => values.reduce((sum, value) => sum + value, 0);

/** The same for every word. */
export const uniform = (length) => new Array(length).fill(1 / length);

/** Weights that sum to one; all equal where nothing is left. */
export function normalised(weights) {
  const sum = total(weights);
  return sum > 0 ? weights.map((weight) => weight / sum) : uniform(weights.length);
}

/** One word gets this weight and keeps it; the others scale, so that all sum to one. */
export function withWeight(weights, place, value) {
  if (weights.length === 1) return [1];
  const kept = Math.min(Math.max(value, 0), 1);
  const others = total(weights) - weights[place];
  const rest = 1 - kept;
  return weights.map((weight, i) => {
    if (i === place) return kept;
    return others > 1e-12 ? (weight * rest) / others : rest / (weights.length - 1);
  });
}

/** One word's weight goes to all others in equal parts. */
export function spread(weights, place) {
  if (weights.length === 1) return [1];
  const share = weights[place] / (weights.length - 1);
  return weights.map((weight, i) => (i === place ? 0 : weight + share));
}

/** No weight on these words; the others scale. */
export const without = (weights, places) =>
  normalised(weights.map((weight, i) => (places.includes(i) ? 0 : weight)));

/** The weights in another order, the same for the same number. */
export function permuted(weights, seed) {
  const order = weights.slice();
  let a = (seed * 0x9e3779b9) >>> 0;
  const random = () => {
    a = (a + 0x6d2b79f5) >>> 0; // mulberry32
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  for (let i = order.length - 1; i > 0; i -= 1) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/** What a set of edits makes of the weights they begin from. An edit: {place, value} or {place, even: true}. */
export function edited(weights, edits) {
  return edits.reduce(
    (now, { place, value, even }) => (even ? spread(now, place) : withWeight(now, place, value)),
    weights,
  );
}

/** Edits as they stand in an address, "adversary~4:0.25~7:even", and back. */
export const written = (base, edits) =>
  [base, ...edits.map(({ place, value, even }) => `${place}:${even ? "even" : Number(value.toPrecision(12))}`)].join("~");

export function parsed(text, length) {
  const [base, ...rest] = String(text).split("~");
  const edits = rest
    .map((part) => part.split(":"))
    .map(([place, value]) => (value === "even" ? { place: Number(place), even: true } : { place: Number(place), value: Number(value) }))
    .filter(({ place, value, even }) => Number.isInteger(place) && place >= 0 && place < length && (even || Number.isFinite(value)));
  return { base, edits };
}
