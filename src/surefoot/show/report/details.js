// Closer looks: one system's queries, one query's systems, curves over alpha, the map.

const CURVES = { urisk: "U_Risk", trisk: "T_Risk", zrisk: "Z_Risk", georisk: "GeoRisk" };

function topicsTable(go, file) {
  return makeTable(byId("topics-table"), {
    caption: "The system’s queries",
    name: "topic",
    searchLabel: "Find a query",
    sort: { key: "x", down: false },
    file,
    columns: [
      {
        key: "topic",
        head: "Query",
        text: true,
        cell: (row) => element("span", {}, link(row.topic, go, "all systems on this query"), textBelow(row.topic)),
      },
      numberColumn("baseline_score", "Baseline", 4),
      numberColumn("system_score", "System", 4),
      numberColumn("delta", "Change", 4, signed),
      numberColumn("x", "Weighed", 4, signed),
      numberColumn("tj", "T_J", 2, signed),
      {
        key: "significant",
        head: "Stands out",
        text: true,
        cell: (row) =>
          element(
            "span",
            { class: row.significant ? `stands-out ${row.significant === "win" ? "gain" : "loss"}` : null },
            row.significant,
          ),
      },
      ...doubtColumns(),
    ],
  });
}

/** The system's queries: title, sorted bars, histogram, segments, table. */
function showSystem(table, it, rows, go) {
  const [losses, wins] = ["loss", "win"].map((kind) => rows.filter((row) => row.significant === kind).length);
  byId("one-system-title").textContent = `${it.system}, query by query`;
  byId("one-system-intro").textContent =
    `Every bar is a query: how far its ${current.name} lies above or below that of ${called(it.baseline)}. ` +
    (Number.isNaN(it.risk.trisk)
      ? "All changes are alike, so none stands out."
      : `Strong colour marks queries that stand out at this alpha (|T_J| > ${fixed(data.critical, 2)}): ` +
        `${counted(losses, "loss", "losses")}, ${counted(wins, "win", "wins")}.`);
  const ordered = [...rows].sort((a, b) => a.delta - b.delta);
  bars(byId("differences"), {
    list: ordered.map((row) => row.delta),
    mark: (index) => ordered[index].significant !== "",
    name: (index) => `${ordered[index].topic}: ${signed(ordered[index].delta, 4)}`,
    pick: (index) => go(ordered[index].topic),
    label: `The changes of ${queriesOf(width)}, the largest loss first; the table below has each`,
  });
  table.update(rows);
}

const EDGES = [-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1];

/** Queries by relative change; a query that had nothing and gained counts as more than doubled. */
function changeBins(rows) {
  const share = (value) => `${minus(String(100 * value))}`;
  const bins = EDGES.slice(0, -1).map((from, k) => ({
    kind: k < 4 ? "loss" : "gain",
    from: share(from),
    to: `to ${share(EDGES[k + 1])} %`,
    count: 0,
  }));
  bins.splice(4, 0, { kind: "unsure", from: "=", to: "no change", count: 0 });
  bins.push({ kind: "gain", from: "> 100", to: "%", count: 0 });
  for (const row of rows) {
    const change = row.baseline_score > 0 ? row.delta / row.baseline_score : Math.sign(row.delta) * Infinity;
    if (row.delta === 0) bins[4].count += 1;
    else if (change < 0) bins[Math.min(Math.max(Math.floor((change + 1) * 4), 0), 3)].count += 1;
    else bins[change > 1 ? 9 : 5 + Math.min(Math.max(Math.ceil(change * 4) - 1, 0), 3)].count += 1;
  }
  return bins;
}

function showHelped(rows) {
  const bins = changeBins(rows);
  histogram(
    byId("helped"),
    bins,
    `Queries by relative change: ${bins.map((bin) => `${bin.from} ${bin.to}: ${bin.count}`).join("; ")}`,
  );
}

function showSegments(it) {
  byId("segments").hidden = !data.segments;
  if (!data.segments) return;
  const rows = segmentMeasures(it.system, it.alpha, it.baseline).sort(
    (a, b) => a.urisk - b.urisk || byName(a.segment, b.segment),
  );
  const cells = rows.map((row) => [
    row.segment,
    integer(row.topics),
    integer(row.wins),
    integer(row.losses),
    signed(row.urisk, 4),
    signed(row.trisk, 2),
    element("span", { class: pKind(row) }, pText(row.p_holm)),
  ]);
  const heads = ["segment", "queries", "better", "worse", "U_Risk", "T_Risk", "p (Holm)"];
  const table = plainTable("The system in each segment, the lowest U_Risk first", heads, cells);
  byId("segments-table").replaceChildren(scrolling("By segment", table));
}

function topicTable(go, file) {
  return makeTable(byId("topic-table"), {
    caption: "All systems on this query",
    name: "system",
    searchLabel: "Find a system",
    sort: { key: "score", down: true },
    file,
    size: 10,
    columns: [
      { key: "system", head: "System", text: true, cell: (row) => nameCell(row, go) },
      { key: "score", head: "Score", cell: (row) => fixed(row.score, 4) },
      { key: "delta", head: "Against baseline", cell: (row) => signed(row.delta, 4) },
      { key: "rank", head: "Rank", cell: (row) => integer(row.rank) },
    ],
  });
}

/** The scores of all systems on a topic, best first; equals share a rank. */
function topicRows(topic, baseline) {
  const j = topicPlace.get(topic);
  const base = scoresOf(baseline)[j];
  const rows = systems.map((system, i) => ({
    topic,
    system,
    baseline,
    score: values[i * width + j],
    delta: values[i * width + j] - base,
  }));
  rows.sort((a, b) => b.score - a.score);
  rows.forEach((row, k) => {
    row.rank = k && rows[k - 1].score === row.score ? rows[k - 1].rank : k + 1;
  });
  return rows;
}

function showTopic(table, it, topic, go) {
  const rows = topicRows(topic, it.baseline);
  const base = scoresOf(it.baseline)[topicPlace.get(topic)];
  const own = rows.find((row) => row.system === it.system);
  const better = rows.filter((row) => row.delta > 0).length;
  const worse = rows.filter((row) => row.delta < 0).length;
  byId("one-topic-title").textContent = `Query ${topic}`;
  byId("one-topic-text").textContent = queryText(topic) ?? "";
  byId("one-topic-intro").textContent =
    `${it.system} scores ${fixed(own.score, 4)} and is ${integer(own.rank)} of ${integer(rows.length)}; ` +
    `${called(it.baseline)} scores ${fixed(base, 4)}. ` +
    `Of ${counted(rows.length, "system", "systems")}, ${integer(better)} do better than the baseline ` +
    `and ${integer(worse)} worse.`;
  bars(byId("topic-scores"), {
    list: rows.map((row) => row.score),
    mark: (index) => rows[index].system === it.system,
    rule: { value: base, name: `baseline ${fixed(base, 3)}` },
    name: (index) => `${rows[index].system}: ${fixed(rows[index].score, 4)}`,
    pick: (index) => go(rows[index].system),
    label: `Scores of all systems on query ${topic}, best first; the table below has each`,
    height: 180,
  });
  table.update(rows.map((row) => ({ ...row, chosen: row.system === it.system })));
}

/** Draws the curves of a measure; returns how to move the marker to an alpha. */
function showCurves(it, measure, go) {
  const count = systems.length > 100 ? 40 : 80;
  const alphas = Array.from({ length: count + 1 }, (_, k) => (data.largest_alpha * k) / count);
  const sweep = alphas.map((alpha) => measures(alpha, it.baseline));
  const own = (k) => fixed(sweep[k][place.get(it.system)][measure], 3);
  return curves(byId("curve"), {
    alphas,
    series: systems.map((name, i) => ({ name, list: sweep.map((rows) => rows[i][measure]) })),
    special: new Map([
      [it.baseline, "baseline"],
      [it.system, "chosen-one"],
    ]),
    rules: measure === "trisk" && data.critical !== null ? [-data.critical, data.critical] : [],
    label: `${CURVES[measure]} of all systems over alpha; ${it.system} goes from ${own(0)} to ${own(count)}`,
    pick: go,
  });
}

function showMap(it, go) {
  byId("map").hidden = !current.map;
  if (!current.map) return;
  const share = (k) => `${(100 * current.map.shares[k]).toFixed(1)} %`;
  byId("map-intro").textContent =
    "Systems close to each other score alike on the same queries. " +
    `The two axes hold ${share(0)} and ${share(1)} of what there is to see ` +
    "(principal components, not centred); squares are the virtual baselines.";
  const names = [...systems, ...virtual.keys()];
  const marks = [...virtual.keys()].map((name) => [name, "virtual"]);
  scatter(byId("map-chart"), {
    points: names.map((name, i) => ({
      name,
      x: current.map.points[i][0],
      y: current.map.points[i][1] ?? 0,
      virtual: virtual.has(name),
    })),
    special: new Map([...marks, [it.baseline, "baseline"], [it.system, "chosen-one"]]),
    axes: [`first axis (${share(0)})`, `second axis (${share(1)})`],
    label: `Map of ${integer(systems.length)} systems and three virtual baselines on two principal axes`,
    pick: go,
  });
}
