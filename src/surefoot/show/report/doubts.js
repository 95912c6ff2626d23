// What the judgments can't tell: how much was judged, and how likely a loss is one for another assessor too.

const hasJudged = data.measures.some((measure) => measure.judged);
const hasCredible = data.measures.some((measure) => measure.credible);

/** The fraction of a system's first documents that is judged; NaN for what is no run. */
const judgedOf = (name, j) => (judgedFractions && place.has(name) ? judgedFractions[place.get(name) * width + j] : NaN);

/** The credibility of a comparison; null for all but the one that the report was made for. */
const credibleOf = ({ system, baseline }) =>
  credibility?.system === system && credibility.baseline === baseline ? credibility : null;

/** Rows of topics, in the order of the scores, with what is known about their judgments. */
function withDoubts(rows, it) {
  const found = credibleOf(it);
  return rows.map((row, j) => ({
    ...row,
    ...(hasCredible && {
      p_loss: found ? found.p_loss[j] : NaN,
      low: found ? found.low[j] : NaN,
      high: found ? found.high[j] : NaN,
      credible: found ? found.credible[j] : "",
    }),
    ...(hasJudged && { judged: judgedOf(it.system, j), baseline_judged: judgedOf(it.baseline, j) }),
  }));
}

/** Their columns; none in a report of score tables. */
const doubtColumns = () => [
  ...(hasCredible
    ? [
        numberColumn("p_loss", "p_loss", 2),
        {
          key: "credible",
          head: "Credible",
          text: true,
          cell: (row) => element("span", { class: credibleKind(row.credible) }, row.credible),
        },
      ]
    : []),
  ...(hasJudged ? [numberColumn("judged", "Judged", 2), numberColumn("baseline_judged", "Baseline judged", 2)] : []),
];

const credibleKind = (word) =>
  word === "loss" ? "stands-out loss" : word === "win" ? "stands-out gain" : null;

/** A query's doubts in words, for the document view. */
function doubtWords(it, topic) {
  const j = topicPlace.get(topic);
  const found = credibleOf(it);
  const parts = [it.baseline, it.system]
    .filter((name) => !Number.isNaN(judgedOf(name, j)))
    .map((name) => `${fixed(100 * judgedOf(name, j), 0)} % of ${name}’s`);
  const known = parts.length ? `Judged are ${parts.join(" and ")} documents within the cutoff of ${current.name}.` : "";
  if (!found) return known;
  const range = `${signed(found.low[j], 3)} to ${signed(found.high[j], 3)}`;
  const verdict = { loss: "a credible loss", win: "a credible win", unclear: "unclear" }[found.credible[j]];
  const sure = `p_loss is ${fixed(found.p_loss[j], 2)}: ${verdict}; for another assessor the change lies in ${range}.`;
  return `${known} ${sure}`.trim();
}
