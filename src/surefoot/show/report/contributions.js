// What each document's move contributes to the change of a measure. The definitions are the library's
// (surefoot.effectiveness.contributions): the numbers here equal its numbers.

/**
 * `documents` are { gain, before, after }: the worth at the first rank, and ranks from 1, or 0 where a list lacks the
 * document. Returns what each one's move contributes; together that is the change of the measure.
 */
function contributionsOf({ form, discounts }, documents) {
  const discount = (rank) => (rank > 0 ? (discounts[rank - 1] ?? 0) : 0);
  const relevant = documents
    .map((each, index) => ({ ...each, index, old: discount(each.before), now: discount(each.after) }))
    .filter((each) => each.gain > 0);
  const found = new Float64Array(documents.length);
  const forms = { sum: summed, pairs: paired, cascade: cascaded };
  forms[form](relevant).forEach((value, k) => {
    found[relevant[k].index] = value;
  });
  return found;
}

const summed = (list) => list.map((each) => each.gain * (each.now - each.old));

/** Every document adds its worth, and every two the lesser worth of both: Shapley values. */
function paired(list) {
  const worth = list.map((each) => ({ old: each.gain * each.old, now: each.gain * each.now }));
  const lesser = (own, k, when) =>
    worth.reduce((total, other, j) => (j === k ? total : total + Math.min(own, other[when])), 0);
  return worth.map(({ old, now }, k) => {
    const joint = lesser(now, k, "old") - lesser(old, k, "old") + lesser(now, k, "now") - lesser(old, k, "now");
    return now - old + joint / 2;
  });
}

/** A document counts if none above it satisfies, which each does with the probability that is its gain. */
function cascaded(list) {
  const found = list.map(() => 0);
  const last = certainRank(list);
  const reached = list.filter((each) => Math.min(rankOf(each.before), rankOf(each.after)) <= last);
  const total = new Float64Array(reached.length);
  for (const moved of [false, true]) {
    reached.forEach((each, owner) => {
      const [rank, discount] = moved ? [each.after, each.now] : [each.before, each.old];
      if (discount > 0) addPlace(total, reached, { owner, rank, worth: each.gain * discount, moved });
    });
  }
  reached.forEach((each, k) => {
    found[list.indexOf(each)] = total[k];
  });
  return found;
}

const rankOf = (rank) => (rank > 0 ? rank : Infinity);

/** No user reads on beyond this rank, whichever documents have moved: one that satisfies for certain is above. */
const certainRank = (list) =>
  Math.min(...list.filter((each) => each.gain === 1).map((each) => Math.max(rankOf(each.before), rankOf(each.after))));

/** Adds what a document at one of its two places brings to each document's Shapley value. */
function addPlace(total, list, place) {
  const before = Float64Array.from(list, (each, j) => precedes(each.before, j, place));
  const after = Float64Array.from(list, (each, j) => precedes(each.after, j, place));
  const factors = new Float64Array(list.length);
  for (const [t, weight] of quadrature(Math.ceil(list.length / 2))) {
    for (let j = 0; j < list.length; j += 1) factors[j] = 1 - list[j].gain * (t * after[j] + (1 - t) * before[j]);
    const without = productsWithout(factors);
    const share = weight * place.worth;
    total[place.owner] += (place.moved ? share : -share) * without[place.owner];
    const chance = place.moved ? t : 1 - t;
    for (let j = 0; j < list.length; j += 1)
      total[j] += share * chance * without[j] * list[j].gain * (before[j] - after[j]);
  }
}

/** 1 where document j at a rank comes before a place, else 0; of two at one rank the order does not matter. */
const precedes = (rank, j, place) =>
  j !== place.owner && rank > 0 && (rank < place.rank || (rank === place.rank && j < place.owner)) ? 1 : 0;

/** The product of all factors but one, for each of them; factors may be 0. */
function productsWithout(factors) {
  const found = new Float64Array(factors.length).fill(1);
  for (let k = 1, left = 1; k < factors.length; k += 1) found[k] *= left *= factors[k - 1];
  for (let k = factors.length - 2, right = 1; k >= 0; k -= 1) found[k] *= right *= factors[k + 1];
  return found;
}

const rules = new Map();

/** Gauss' nodes and weights on [0, 1], which integrate polynomials of a degree below 2 n exactly. */
function quadrature(n) {
  if (!rules.has(n)) rules.set(n, Array.from({ length: n }, (_, k) => gaussNode(n, k)));
  return rules.get(n);
}

function gaussNode(n, k) {
  let x = Math.cos((Math.PI * (k + 0.75)) / (n + 0.5));
  let slope = 1;
  for (let step = 0; step < 20; step += 1) {
    let [last, own] = [0, 1];
    for (let j = 0; j < n; j += 1) [last, own] = [own, ((2 * j + 1) * x * own - j * last) / (j + 1)];
    slope = (n * (x * own - last)) / (x * x - 1);
    x -= own / slope;
  }
  return [(x + 1) / 2, 1 / ((1 - x * x) * slope * slope)];
}
