// What the reader chooses, and what has to be drawn again when it changes.

const opening = { ...data.start, measure: data.measures[0].name, topic: null };
const state = { ...opening, curve: "urisk" };

/** The signatures that the library gives the same results. */
function signature(kind, fields) {
  const stated = Object.entries(fields).map(([name, value]) => `${name}=${value}`);
  return [kind, ...stated, `surefoot=${data.surefoot}`].join("|");
}
const compared = () => ({
  measure: current.name,
  baseline: state.baseline,
  alpha: plainNumber(state.alpha),
  population: `all(${systems.length})`,
  topics: width,
});
const signatureOf = {
  systems: () => signature("evaluate", { ...compared(), correct: "holm" }),
  topics: () => signature("explore", { ...compared(), system: state.system, level: data.level }),
  moves: () => {
    const { system, baseline } = state;
    return signature("documents", { measure: current.name, system, baseline, depth: data.documents.depth, topics: 1 });
  },
};

const bare = (rows) => rows.map(({ chosen, ...row }) => row);
const tables = {
  systems: systemsTable(chooseSystem, (rows) => [
    `systems-against-${state.baseline}.csv`,
    csv(bare(rows), signatureOf.systems()),
  ]),
  topics: topicsTable(chooseTopic, (rows) => [`queries-of-${state.system}.csv`, csv(rows, signatureOf.topics())]),
  topic: topicTable(chooseSystem, (rows) => [`query-${state.topic}.csv`, csv(bare(rows), signatureOf.systems())]),
  moves: movesTable((rows) => [`documents-of-${state.topic}.csv`, csv(rows, signatureOf.moves())]),
};
let moveMarker = () => {};

/** What depends on alpha: drawn at every move of the slider. */
function drawMeasures() {
  const it = standing(state.system, state.baseline, state.alpha);
  const rows = withDoubts(topicMeasures(state.system, state.alpha, state.baseline), state);
  state.topic ??= byChange(rows)[0].topic;
  showVerdict(it);
  showSure(it);
  showSystems(tables.systems, measures(state.alpha, state.baseline), it);
  showSystem(tables.topics, it, rows, chooseTopic);
  showSegments(it);
  moveMarker(state.alpha);
  byId("weight").textContent = times(state.alpha);
  byId("alpha").value = state.alpha;
  if (document.activeElement !== byId("alpha-exact")) byId("alpha-exact").value = plainNumber(state.alpha);
  byId("alpha").setAttribute(
    "aria-valuetext",
    `alpha ${plainNumber(state.alpha)}, a loss counts ${times(state.alpha)} a gain`,
  );
  byId("signature").textContent = signatureOf.systems();
  document.title = `${state.system} against ${state.baseline}: risk report`;
  return { it, rows };
}

const byChange = (rows) => [...rows].sort((a, b) => a.delta - b.delta);

/** Everything: drawn when the system, the baseline or the width changes. */
function drawAll() {
  const { it, rows } = drawMeasures();
  showChanged(it);
  showWorst(it, rows, chooseTopic);
  showHelped(rows);
  drawTopic(it);
  moveMarker = showCurves(it, state.curve, chooseSystem);
  moveMarker(state.alpha);
  showMap(it, chooseSystem);
  byId("system").value = state.system;
  byId("baseline").value = state.baseline;
  byId("measure").value = state.measure;
  byId("about").textContent =
    `${counted(systems.length, "system", "systems")}, ${queriesOf(width)}, ${current.name}`;
  byId("notes").replaceChildren(...current.notes.map((note) => element("li", {}, note)));
}

/** One query: its documents, and all systems on it. */
function drawTopic(it = standing(state.system, state.baseline, state.alpha)) {
  const order = byChange(topicMeasures(state.system, state.alpha, state.baseline)).map((row) => row.topic);
  const rank = order.indexOf(state.topic);
  byId("topic-order").textContent = `${integer(rank + 1)} of ${integer(width)}, the largest loss first`;
  for (const [id, step] of [["previous-topic", -1], ["next-topic", 1]]) {
    byId(id).disabled = order[rank + step] === undefined;
    byId(id).onclick = () => chooseTopic(order[rank + step]);
  }
  showRankings(tables.moves, it, state.topic);
  showTopic(tables.topic, it, state.topic, chooseSystem);
}

function visit(heading) {
  byId(heading).scrollIntoView({ block: "start" });
  byId(heading).focus({ preventScroll: true });
}

function chooseSystem(name) {
  if (!place.has(name)) return;
  state.system = name;
  tables.topics.reset();
  drawAll();
  visit("one-system-title");
  remember(state, true);
  speak();
}

function chooseTopic(name) {
  state.topic = name;
  tables.topic.reset();
  tables.moves.reset();
  drawTopic();
  visit("one-topic-title");
  remember(state, true);
}

/** Takes the state that a link stands for, or the one that the page opens with; true if it names a query. */
function followLink(fragment) {
  const { state: linked, unknown } = readFragment(fragment);
  Object.assign(state, opening, linked);
  useMeasure(state.measure);
  const missing = `The link names what this report does not have: ${unknown.join(", ")}.`;
  byId("link-note").textContent = unknown.length ? missing : "";
  return linked.topic !== undefined;
}

/** Tells screen readers the verdict once the reader has come to rest. */
let pause = 0;
function speak() {
  clearTimeout(pause);
  pause = setTimeout(() => {
    byId("spoken").textContent = byId("headline").textContent;
  }, 700);
}

function listen() {
  const redraw = oncePerFrame(drawMeasures);
  byId("alpha").addEventListener("input", (event) => {
    state.alpha = Number(event.target.value);
    redraw();
    remember(state, false);
    speak();
  });
  byId("alpha-exact").addEventListener("input", (event) => {
    const alpha = event.target.valueAsNumber;
    if (!(alpha >= 0 && alpha <= data.largest_alpha)) return;
    state.alpha = alpha;
    redraw();
    remember(state, false);
    speak();
  });
  byId("alpha-exact").addEventListener("change", () => {
    byId("alpha-exact").value = plainNumber(state.alpha);
  });
  for (const what of ["system", "baseline", "measure"]) {
    byId(what).addEventListener("change", (event) => {
      state[what] = event.target.value;
      useMeasure(state.measure);
      tables.topics.reset();
      drawAll();
      remember(state, true);
      speak();
    });
  }
  window.addEventListener("popstate", () => {
    if (location.hash && !location.hash.includes("=")) return; // the name of a section
    const toQuery = followLink(location.hash);
    drawAll();
    if (toQuery) visit("one-topic-title");
  });
  for (const entry of document.querySelectorAll("#contents a")) {
    entry.addEventListener("click", (event) => {
      event.preventDefault(); // the fragment says what is shown
      visit(entry.hash.slice(1));
    });
  }
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  byId("print").addEventListener("click", () => window.print());
  byId("theme").addEventListener("click", switchTheme);
  let across = document.body.clientWidth;
  new ResizeObserver(
    oncePerFrame(() => {
      if (document.body.clientWidth === across) return;
      across = document.body.clientWidth;
      drawAll();
    }),
  ).observe(document.body);
}

const isDark = () =>
  (document.documentElement.dataset.theme ??
    (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

function switchTheme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  byId("theme").setAttribute("aria-pressed", String(isDark()));
}

function choice(select, groups) {
  for (const [label, names] of groups) {
    const options = names.map((name) => element("option", { value: name }, name));
    select.append(...(label ? [element("optgroup", { label }, ...options)] : options));
  }
}

function start() {
  choice(byId("system"), [["", systems]]);
  choice(byId("baseline"), [
    ["Systems", systems],
    ["Made of all systems", [...virtual.keys()]],
  ]);
  choice(byId("measure"), [["", data.measures.map((one) => one.name)]]);
  byId("measure-choice").hidden = data.measures.length === 1;
  byId("alpha").max = byId("alpha-exact").max = data.largest_alpha;
  for (const [key, name] of Object.entries(CURVES)) {
    const radio = element("input", {
      type: "radio",
      name: "curve",
      value: key,
      checked: key === state.curve,
      onchange: () => {
        state.curve = key;
        moveMarker = showCurves(standing(state.system, state.baseline, state.alpha), key, chooseSystem);
        moveMarker(state.alpha);
      },
    });
    byId("curve-choice").append(element("label", {}, radio, name));
  }
  byId("versions").textContent = data.versions;
  byId("theme").setAttribute("aria-pressed", String(isDark()));
  listen();
  const toQuery = followLink(location.hash);
  drawAll();
  if (toQuery) visit("one-topic-title");
}

start();
// For tests, and for use in the console: every measure of the page.
window.surefoot = Object.freeze({ measures, topicMeasures, segmentMeasures, movesOf, useMeasure });
