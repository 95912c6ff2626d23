// The documents of a query: two rankings, and the move of each document from one to the other.

const UNJUDGED = "?";
const held = new Map(Object.entries(data.documents?.topics ?? {}));

/** A system's ranking of a query; null if the page does not hold it. */
const runOf = (topic, system) =>
  Object.hasOwn(held.get(topic)?.runs ?? {}, system) ? held.get(topic).runs[system] : null;

/** The ranks of documents in a system's ranking of a query; null if the page does not hold it. */
function ranksOf(topic, system) {
  const run = runOf(topic, system);
  if (!run) return null;
  const ranks = new Map(run.first.map((index, k) => [index, k + 1]));
  for (let k = 0; k < run.deeper.length; k += 2) ranks.set(run.deeper[k], run.deeper[k + 1]);
  return ranks;
}

/** How documents of a query combine under the measure that is shown; null where contributions are not defined. */
function measureOn(topic) {
  const k = data.measures.indexOf(current);
  const measure = data.documents.measures[k];
  return measure && { ...measure, gains: new Map(held.get(topic).gains[k]) };
}

/** The last rank that counts, or the last that is shown. */
const edgeOf = (measure) => Math.min(data.documents.depth, measure?.cutoff ?? Infinity);

function changeOf(before, after, edge) {
  const [was, is] = [before > 0 && before <= edge, after > 0 && after <= edge];
  if (before === after) return "same";
  if (was !== is) return is ? "in" : "out";
  return after && (after < before || !before) ? "rose" : "fell";
}

/**
 * The moves of a query's documents from the baseline's ranking to the system's, in the order of the system's; null if
 * the page lacks the system's ranking. Without a ranking of the baseline all documents are where they are.
 */
function movesOf(topic, system, baseline) {
  const after = ranksOf(topic, system);
  if (!after) return null;
  const before = ranksOf(topic, baseline);
  const { ids, grades, texts } = held.get(topic);
  const measure = measureOn(topic);
  const edge = edgeOf(measure);
  const indices = [...new Set([...after.keys(), ...(before ?? after).keys()])];
  const list = indices.map((index) => ({
    gain: measure?.gains.get(grades[index]) ?? 0,
    before: (before ?? after).get(index) ?? 0,
    after: after.get(index) ?? 0,
  }));
  const worth = measure && before ? contributionsOf(measure, list) : list.map(() => NaN);
  const moves = indices.map((index, k) => ({
    index,
    document: ids[index],
    text: texts[index] ?? "",
    grade: grades[index],
    before: list[k].before,
    after: list[k].after,
    change: changeOf(list[k].before, list[k].after, edge),
    contribution: worth[k],
  }));
  // Of pairs that the page was not made for it holds the first ranks, and deeper ones of relevant documents alone.
  const whole = [system, baseline].every((name) => runOf(topic, name)?.whole);
  return { moves, edge, whole, paired: before !== null, counted: measure !== null };
}

const gradeWords = (move) => (move.grade === null ? "not judged" : `grade ${move.grade}`);

/** The move in words, without what it cost. */
function wayWords({ change, before, after }) {
  return {
    rose: `rose from ${before || "further down"} to ${after}`,
    fell: `fell from ${before} to ${after || "further down"}`,
    in: before ? `came in at ${after} from ${before}` : `came in at ${after}`,
    out: after ? `went out from ${before} to ${after}` : `went out from ${before}`,
    same: `stayed at ${after}`,
  }[change];
}

/** What the query's change is made of, in a few sentences. */
function changeWords(it, topic, { moves, paired, counted: defined }) {
  const j = topicPlace.get(topic);
  const [own, base] = [rowOf(it.system)[j], scoresOf(it.baseline)[j]];
  if (!paired) return alone(it);
  const scores = `from ${fixed(base, 4)} to ${fixed(own, 4)} (${signed(own - base, 4)})`;
  const moved = own === base ? `stayed at ${fixed(own, 4)}` : `${own < base ? "fell" : "rose"} ${scores}`;
  const first = `${current.name} ${moved}.`;
  if (!defined) return `${first} What each document contributes is not defined for this measure.`;
  const sentences = [first, largestWords(moves, -1, 2), largestWords(moves, 1, own < base ? 1 : 2)];
  return sentences.filter(Boolean).join(" ");
}

const alone = (it) =>
  virtual.has(it.baseline)
    ? `${it.baseline} is made of scores and ranks no documents; choose a system as the baseline to see two rankings.`
    : `This file does not hold the ranking of ${it.baseline}.`;

/** The moves that cost (-1) or gained (1) most. */
function largestWords(moves, sign, most) {
  const found = moves
    .filter((move) => sign * move.contribution > 0)
    .sort((a, b) => sign * (b.contribution - a.contribution));
  if (!found.length) return sign < 0 ? "No move cost anything." : "No move gained anything.";
  const named = found
    .slice(0, most)
    .map((move) => `${move.document} (${gradeWords(move)}) ${wayWords(move)}: ${signed(move.contribution, 4)}`);
  const rest = found.slice(most);
  const others = rest.length ? `; ${counted(rest.length, "other move", "other moves")}: ${signed(sumOf(rest), 4)}` : "";
  return `${sign < 0 ? "What cost most:" : "What gained most:"} ${named.join("; ")}${others}.`;
}

const sumOf = (moves) => moves.reduce((total, move) => total + move.contribution, 0);
