// The first screen and the table of all systems, drawn from what is compared at the moment.

const WORST = 10;

const queryText = (topic) => data.texts?.[topicPlace.get(topic)] || null;

function showVerdict(it) {
  const { start } = data;
  const isStart = it.system === start.system && it.baseline === start.baseline && current.name === data.measures[0].name;
  const decision = isStart ? data.decision : null;
  byId("headline").textContent = decision ?? headline(it);
  const more = it.system === it.baseline ? "Choose another system, or another baseline." : lead(it);
  byId("lead").textContent = decision ? `${headline(it)} ${rateWords(it)}` : more;
}

function showChanged(it) {
  const { wins, losses, ties } = it.average;
  const part = (count, kind) =>
    count ? drawn("rect", { class: kind, height: 14, "data-share": count / width }) : null;
  const strip = drawn(
    "svg",
    { class: "strip", viewBox: "0 0 1000 14", preserveAspectRatio: "none", "aria-hidden": "true" },
    part(losses, "loss"),
    part(ties, "unsure"),
    part(wins, "gain"),
  );
  let x = 0;
  for (const piece of strip.children) {
    piece.setAttribute("x", x);
    piece.setAttribute("width", 1000 * piece.dataset.share);
    x += 1000 * piece.dataset.share;
  }
  const fact = (count, word, kind) => element("li", { class: kind }, element("b", {}, integer(count)), ` ${word}`);
  byId("changed").replaceChildren(
    strip,
    element(
      "ul",
      { class: "counts" },
      fact(losses, "worse", "loss"),
      fact(ties, "equal", "unsure"),
      fact(wins, "better", "gain"),
    ),
  );
}

function showSure(it) {
  const reach = (row) => (data.critical === null ? NaN : data.critical * row.se);
  const row = (name, found, sign) => ({
    name,
    value: found.urisk,
    low: found.urisk - reach(found),
    high: found.urisk + reach(found),
    sign,
  });
  const rows = [row("mean change", it.average, it.averageSign)];
  if (it.alpha > 0) rows.push(row(`mean change, losses counted ${times(it.alpha)}`, it.risk, it.riskSign));
  const chart = element("div", { class: "chart" });
  const said = element("p", {}, averageWords(it));
  const more = element("p", {}, riskWords(it));
  const fine = element(
    "p",
    { class: "remark" },
    `Bars are 95 % intervals${it.corrected ? " of this comparison alone" : ""}.`,
  );
  const host = byId("sure");
  if (Number.isNaN(it.average.trisk)) return host.replaceChildren(said);
  host.replaceChildren(said, ...(more.textContent ? [more] : []), chart, fine);
  return intervals(
    chart,
    rows,
    rows
      .map(
        (one) =>
          `${one.name}: ${signed(one.value, 4)}, 95 % interval ${signed(one.low, 4)} to ${signed(one.high, 4)}`,
      )
      .join("; "),
  );
}

function showWorst(it, rows, go) {
  const worst = rows
    .filter((row) => row.delta < 0)
    .sort((a, b) => a.delta - b.delta || byName(a.topic, b.topic))
    .slice(0, WORST);
  const which =
    worst.length < it.average.losses ? `worst ${worst.length} of ${integer(it.average.losses)}` : worst.length;
  const title = worst.length === 1 ? "The query it made worse" : `The ${which} queries it made worse`;
  byId("worst-title").textContent = worst.length ? title : "No query got worse";
  const most = worst.length ? -worst[0].delta : 1;
  const found = credibleOf(it);
  const cells = worst.map((row) => [
    element("span", {}, link(row.topic, go, "all systems on this query"), textBelow(row.topic)),
    fixed(row.baseline_score, 3),
    fixed(row.system_score, 3),
    element("span", {}, signed(row.delta, 3), meter(-row.delta / most)),
    ...(found ? [fixed(row.p_loss, 2)] : []),
  ]);
  const real = found ? ` ${found.real[0].toUpperCase()}${found.real.slice(1)}.` : "";
  const caption = `Before: ${called(it.baseline)}. After: ${it.system}.${real}`;
  const heads = ["query", "before", "after", "change", ...(found ? ["p_loss"] : [])];
  const table = plainTable(caption, heads, cells);
  byId("worst").replaceChildren(...(worst.length ? [table] : []));
}

const textBelow = (topic) => (queryText(topic) ? element("span", { class: "text-below" }, queryText(topic)) : null);

const meter = (share) =>
  drawn(
    "svg",
    { class: "meter", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
    drawn("rect", { class: "loss", height: 6, width: at(100 * share) }),
  );

function systemsTable(go, file) {
  return makeTable(byId("systems-table"), {
    caption: "All systems against the baseline",
    name: "system",
    searchLabel: "Find a system",
    sort: { key: "urisk", down: true },
    file,
    columns: [
      { key: "system", head: "System", text: true, cell: (row) => nameCell(row, go) },
      numberColumn("mean", "Mean", 4),
      numberColumn("urisk", "U_Risk", 4, signed),
      numberColumn("trisk", "T_Risk", 2, signed),
      numberColumn("p", "p", 0, pText),
      { key: "p_holm", head: "p (Holm)", cell: (row) => element("span", { class: pKind(row) }, pText(row.p_holm)) },
      numberColumn("zrisk", "Z_Risk", 2, signed),
      numberColumn("georisk", "GeoRisk", 4),
      numberColumn("wins", "Better", 0, integer),
      numberColumn("losses", "Worse", 0, integer),
      numberColumn("loss20", "Lost > 20 %", 0, integer),
    ],
  });
}

const pKind = (row) => (row.p_holm < data.level ? (row.trisk < 0 ? "stands-out loss" : "stands-out gain") : null);

function nameCell(row, go) {
  const name = link(row.system, go, "its queries, one by one");
  return row.system === row.baseline
    ? element("span", {}, name, " ", element("span", { class: "tag" }, "baseline"))
    : name;
}

function showSystems(table, rows, it) {
  const pays = rows.filter((row) => row.system !== it.baseline && row.urisk >= 0).length;
  const others = rows.length - (place.has(it.baseline) ? 1 : 0);
  byId("systems-intro").textContent =
    `Against ${called(it.baseline)}, with losses counted ${times(it.alpha)}, ` +
    `the gains of ${integer(pays)} of ${counted(others, "system", "systems")} ` +
    "make up for the losses (U_Risk of 0 or more). Choose a name to look into a system, a heading to sort.";
  byId("systems-remark").textContent =
    it.alpha > 2 ? "At alpha above 2 a better score on one query can lower GeoRisk; read it with care." : "";
  table.update(rows.map((row) => ({ ...row, chosen: row.system === it.system })));
}
