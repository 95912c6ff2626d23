// The scores and every measure computed from them. Nothing in here depends on the page.

const data = JSON.parse(document.getElementById("data").textContent);

function unpack(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) bytes[i] = letters.charCodeAt(i);
  return new Float64Array(bytes.buffer);
}

const systems = data.systems;
const topics = data.topics;
const width = topics.length;
const place = new Map(systems.map((name, index) => [name, index]));
const topicPlace = new Map(topics.map((topic, index) => [topic, index]));

// What depends on the measure that is shown.
let current = null;
let values = null;
let virtual = null;
let totals = null;
let margins = null;
let judgedFractions = null;
let credibility = null;
const comparisons = new Map();

function useMeasure(name) {
  current = data.measures.find((measure) => measure.name === name);
  values = unpack(current.values);
  virtual = new Map(Object.entries(current.virtual).map(([each, text]) => [each, unpack(text)]));
  totals = systems.map((system) => sum(rowOf(system)));
  margins = expectations();
  judgedFractions = current.judged && unpack(current.judged);
  credibility = current.credible && {
    ...current.credible,
    ...Object.fromEntries(["p_loss", "low", "high"].map((name) => [name, unpack(current.credible[name])])),
  };
  comparisons.clear();
}

const rowOf = (system) => values.subarray(place.get(system) * width, (place.get(system) + 1) * width);
const scoresOf = (name) => virtual.get(name) ?? rowOf(name);
const largest = (row) => row.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
const sum = (row) => row.reduce((total, value) => total + value, 0);

/** What alpha can't change, of one system against one baseline on some topics (all, if none are named). */
function compare(own, base, members) {
  const count = members ? members.length : own.length;
  const it = {
    n: count,
    gainSum: 0,
    lossSum: 0,
    wins: 0,
    losses: 0,
    large: 0,
    gainSquares: 0,
    lossSquares: 0,
    noise: 0,
  };
  for (let k = 0; k < count; k += 1) {
    const j = members ? members[k] : k;
    const d = own[j] - base[j];
    if (d < 0) {
      it.losses += 1;
      it.lossSum += d;
    } else {
      it.gainSum += d;
      if (d > 0) it.wins += 1;
    }
    // A loss of exactly 20 % must not count through rounding.
    if (base[j] > 0 && d < -(0.2 + 1e-9) * base[j]) it.large += 1;
    it.noise = Math.max(it.noise, Math.abs(own[j]), Math.abs(base[j]));
  }
  it.noise *= 1e-13;
  it.gainMean = it.gainSum / Math.max(count - it.losses, 1);
  it.lossMean = it.lossSum / Math.max(it.losses, 1);
  for (let k = 0; k < count; k += 1) {
    const j = members ? members[k] : k;
    const d = own[j] - base[j];
    if (d < 0) it.lossSquares += (d - it.lossMean) ** 2;
    else it.gainSquares += (d - it.gainMean) ** 2;
  }
  return it;
}

/** U_Risk, its standard error, T_Risk and p of a comparison: gains as they are, losses times 1 + alpha. */
function inference(it, alpha) {
  const factor = 1 + alpha;
  const gains = it.n - it.losses;
  const gap = factor * it.lossMean - it.gainMean;
  const squares = it.gainSquares + factor ** 2 * it.lossSquares + (gap ** 2 * gains * it.losses) / it.n;
  const urisk = (it.gainSum + factor * it.lossSum) / it.n;
  let sd = it.n > 1 ? Math.sqrt(squares / (it.n - 1)) : NaN;
  // A spread this small is rounding: then nothing varies, and there is nothing to test.
  if (sd <= Math.max(1e-13 * Math.abs(urisk), factor * it.noise)) sd = 0;
  const se = sd / Math.sqrt(it.n);
  const trisk = se > 0 ? urisk / se : NaN;
  return { urisk, se, sd, trisk, p: studentP(trisk, Math.max(it.n - 1, 1)) };
}

/** All systems against a baseline; the last few baselines are kept. */
function comparisonsWith(baseline) {
  if (!comparisons.has(baseline)) {
    if (comparisons.size >= 8) comparisons.delete(comparisons.keys().next().value);
    const base = scoresOf(baseline);
    comparisons.set(
      baseline,
      systems.map((system) => compare(rowOf(system), base)),
    );
  }
  return comparisons.get(baseline);
}

/** Each system's z summed over gains and over losses: scores against what system and topic make one expect. */
function expectations() {
  if (values.some((value) => value < 0)) return null;
  const columns = new Float64Array(width);
  values.forEach((value, index) => {
    columns[index % width] += value;
  });
  const whole = sum(totals);
  const shares = totals.map((total) => total / (whole > 0 ? whole : 1));
  const found = systems.map((system, i) => {
    const row = rowOf(system);
    let gains = 0;
    let losses = 0;
    for (let j = 0; j < width; j += 1) {
      const expected = shares[i] * columns[j];
      const z = expected > 0 ? (row[j] - expected) / Math.sqrt(expected) : 0;
      if (z < 0) losses += z;
      else gains += z;
    }
    return { gains, losses };
  });
  return { columns, shares, found };
}

function zscores(system) {
  if (!margins) return new Float64Array(width).fill(NaN);
  const share = margins.shares[place.get(system)];
  return rowOf(system).map((value, j) => {
    const expected = share * margins.columns[j];
    return expected > 0 ? (value - expected) / Math.sqrt(expected) : 0;
  });
}

/** p adjusted after Holm for all tests in the list; NaN is no test. */
function holm(list) {
  const order = list
    .map((p, index) => [p, index])
    .filter(([p]) => !Number.isNaN(p))
    .sort((a, b) => a[0] - b[0]);
  const adjusted = list.map(() => NaN);
  let least = 0;
  order.forEach(([p, index], rank) => {
    least = Math.max(least, p * (order.length - rank));
    adjusted[index] = Math.min(least, 1);
  });
  return adjusted;
}

/** A row of measures for each system: the columns of `surefoot evaluate --correct holm`. */
function measures(alpha, baseline) {
  const rows = comparisonsWith(baseline).map((it, i) => {
    const { urisk, se, trisk, p } = inference(it, alpha);
    const mean = totals[i] / width;
    const zrisk = margins ? margins.found[i].gains + (1 + alpha) * margins.found[i].losses : NaN;
    return {
      system: systems[i],
      baseline,
      alpha,
      mean,
      urisk,
      frisk: Math.abs(it.lossSum) / width,
      freward: it.gainSum / width,
      trisk,
      se,
      p,
      zrisk,
      georisk: Math.sqrt(mean * normal(zrisk / width)),
      wins: it.wins,
      losses: it.losses,
      ties: width - it.wins - it.losses,
      loss20: it.large,
    };
  });
  holm(rows.map((row) => row.p)).forEach((p, i) => {
    rows[i].p_holm = p;
  });
  return rows;
}

/** A row for each topic of a system: the columns of `surefoot explore`, in the order of the scores. */
function topicMeasures(system, alpha, baseline) {
  const own = rowOf(system);
  const base = scoresOf(baseline);
  const { urisk, sd } = inference(comparisonsWith(baseline)[place.get(system)], alpha);
  const spread = sd > 0 ? sd : NaN;
  const z = zscores(system);
  return topics.map((topic, j) => {
    const delta = own[j] - base[j];
    const x = delta < 0 ? (1 + alpha) * delta : delta;
    const tj = (Math.sqrt(width / Math.max(width - 1, 1)) * (x - urisk)) / spread;
    const significant = tj < -data.critical ? "loss" : tj > data.critical ? "win" : "";
    return {
      topic,
      system_score: own[j],
      baseline_score: base[j],
      delta,
      x,
      z: z[j],
      tr: x / spread,
      tj,
      significant,
    };
  });
}

/** A row for each segment of topics of a system; p is corrected over the segments. */
function segmentMeasures(system, alpha, baseline) {
  if (!data.segments) return [];
  const members = data.segments.names.map(() => []);
  data.segments.of.forEach((segment, topic) => members[segment].push(topic));
  const rows = data.segments.names.map((segment, k) => {
    const it = compare(rowOf(system), scoresOf(baseline), members[k]);
    const { urisk, trisk, p } = inference(it, alpha);
    return { segment, topics: it.n, urisk, trisk, p, wins: it.wins, losses: it.losses };
  });
  holm(rows.map((row) => row.p)).forEach((p, k) => {
    rows[k].p_holm = p;
  });
  return rows;
}

useMeasure(data.measures[0].name);
