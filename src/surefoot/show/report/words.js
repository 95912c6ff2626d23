// Numbers and findings as text. Every sentence is made from the current measures.

const UNDEFINED = "–";
const minus = (text) => text.replace("-", "−");
const fixed = (value, digits) => (Number.isFinite(value) ? minus(value.toFixed(digits)) : UNDEFINED);
const signed = (value, digits) => {
  const text = fixed(value, digits);
  return value > 0 && Number(value.toFixed(digits)) > 0 ? `+${text}` : text.replace(/^−(0\.?0*)$/, "$1");
};
const integer = (value) => value.toLocaleString("en");
const counted = (count, one, many) => `${integer(count)} ${count === 1 ? one : many}`;
const queriesOf = (count) => counted(count, "query", "queries");
const pText = (p) => (Number.isNaN(p) ? UNDEFINED : p < 0.001 ? "< 0.001" : p.toFixed(3));
const pWords = (p) => (p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(3)}`);
const plainNumber = (value) => String(Number(value.toPrecision(6)));
const times = (alpha) => (alpha === 0 ? "as much as" : `${plainNumber(1 + alpha)} times`);

const VIRTUAL_WORDS = {
  MEAN: "the mean of all systems",
  MEDIAN: "the median of all systems",
  MAX: "the best score on each query",
};
const called = (name) => (virtual.has(name) ? VIRTUAL_WORDS[name] : name);

/** 1 or −1 where a test is significant, else 0: it may be noise. */
function direction(t, p) {
  return Number.isNaN(t) || !(p < data.level) ? 0 : Math.sign(t);
}

/**
 * How a system stands against a baseline. A comparison that the report's author planned is one test; one that was
 * picked out of many counts as such, and its p is corrected after Holm.
 */
function standing(system, baseline, alpha) {
  const at = (weight) => measures(weight, baseline)[place.get(system)];
  const average = at(0);
  const risk = at(alpha);
  const planned = data.start.planned && system === data.start.system && baseline === data.start.baseline;
  const p = (row) => (planned ? row.p : row.p_holm);
  const tests = systems.length - (place.has(baseline) ? 1 : 0);
  return {
    system,
    baseline,
    alpha,
    average,
    risk,
    averageP: p(average),
    riskP: p(risk),
    corrected: !planned && tests > 1 ? tests : 0,
    alone: direction(average.trisk, average.p),
    averageSign: direction(average.trisk, p(average)),
    riskSign: direction(risk.trisk, p(risk)),
  };
}

/** The verdict in one sentence. */
function headline(it) {
  const { system } = it;
  const baseline = called(it.baseline);
  const { wins, losses } = it.average;
  if (system === it.baseline) return `${system} is the baseline itself.`;
  if (wins + losses === 0) return `${system} scores the same as ${baseline} on every query.`;
  if (width === 1) return `One query is too few to tell ${system} from ${baseline}.`;
  if (Number.isNaN(it.average.trisk)) {
    return `${system} is ${it.average.urisk > 0 ? "better" : "worse"} than ${baseline} by the same on every query.`;
  }
  if (losses === 0) {
    return it.averageSign > 0
      ? `${system} is better than ${baseline}, and made no query worse.`
      : `${system} made no query worse than ${baseline}, but too few queries better to be sure.`;
  }
  return judged(it, system, baseline);
}

function judged(it, system, baseline) {
  if (it.averageSign < 0) return `${system} is worse than ${baseline}, and that is more than noise.`;
  if (it.averageSign > 0) {
    if (it.alpha === 0) return `${system} is better than ${baseline} on average, and that is more than noise.`;
    if (it.riskSign > 0) return `${system} is better than ${baseline}, and its gains are worth its losses.`;
    if (it.riskSign < 0)
      return `${system} is better than ${baseline} on average, but its gains do not pay for its losses.`;
    return `${system} is better than ${baseline} on average; whether it is worth its losses is too close to call.`;
  }
  if (it.riskSign < 0)
    return `${system} is not clearly better than ${baseline}, and its gains do not pay for its losses.`;
  if (it.riskSign > 0) return `${system} is worth its losses against ${baseline}, though its average may be noise.`;
  if (it.alone) {
    const looks = it.alone > 0 ? "better" : "worse";
    return `${system} looks ${looks} than ${baseline}, but among ${integer(it.corrected)} systems that may be chance.`;
  }
  return `${system} and ${baseline} are too close to call.`;
}

/** What the verdict rests on. */
function lead(it) {
  const { wins, losses, loss20 } = it.average;
  const change =
    `It made ${queriesOf(wins)} better and ${integer(losses)} worse` +
    (loss20 ? `, ${integer(loss20)} of them by more than a fifth.` : ".");
  return `${change} ${rateWords(it)}`;
}

const rateWords = (it) =>
  it.alpha === 0
    ? "Here a loss counts as much as a gain of the same size."
    : `Here a loss counts ${times(it.alpha)} as much as a gain of the same size.`;

/** How sure we are that the average changed. */
function averageWords(it) {
  const change = it.average.urisk;
  const means = `mean ${current.name} ${fixed(it.average.mean - change, 4)} → ${fixed(it.average.mean, 4)}`;
  if (it.average.wins + it.average.losses === 0) return "No query changed, so there is nothing to test.";
  const moved = `On average the score ${change < 0 ? "fell" : "rose"} by ${fixed(Math.abs(change), 4)} (${means}).`;
  if (Number.isNaN(it.average.trisk))
    return `${moved} Nothing varies from query to query, so there is nothing to test.`;
  const noise = it.averageSign ? "That is more than noise" : "Noise could do that";
  return `${moved} ${noise}: ${it.corrected ? among(it) : chance(it.averageP)}.`;
}

/** How sure we are that the gains pay, or do not pay, for the losses. */
function riskWords(it) {
  if (it.alpha === 0 || Number.isNaN(it.risk.trisk)) return "";
  const rate = `With losses counted ${times(it.alpha)}`;
  const paid = it.risk.urisk < 0 ? "the losses outweigh the gains" : "the gains outweigh the losses";
  const sure = it.riskSign ? "and that is more than noise" : "but noise could do that";
  return `${rate}, ${paid} (${signed(it.risk.urisk, 4)} per query), ${sure}: ${pWords(it.riskP)}.`;
}

function among(it) {
  const together = `among ${integer(it.corrected)} systems compared, ${pWords(it.averageP)} (after Holm)`;
  return `${together}; for this one alone ${pWords(it.average.p)}`;
}

function chance(p) {
  const share = p < 0.001 ? "in fewer than 1 of 1,000 cases" : `in ${plainPercent(p)} of cases`;
  return `without any real difference, chance alone would do as much ${share} (${pWords(p)})`;
}

const plainPercent = (share) => `${share < 0.1 ? (100 * share).toFixed(1) : Math.round(100 * share)} %`;
