// Two rankings of a query side by side, with a line for each document from where it was to where it is.

const SIDES = { before: "after", after: "before" };

function movesTable(file) {
  return makeTable(byId("moves-table"), {
    caption: "Every document’s move",
    name: "document",
    searchLabel: "Find a document",
    sort: { key: "contribution", down: false },
    file,
    size: 10,
    columns: [
      {
        key: "document",
        head: "Document",
        text: true,
        cell: (row) => element("span", { class: "long" }, row.document),
      },
      { key: "baseline_rank", head: "Was at", cell: (row) => rankText(row.baseline_rank) },
      { key: "system_rank", head: "Is at", cell: (row) => rankText(row.system_rank) },
      { key: "change", head: "Move", text: true },
      { key: "grade", head: "Grade", cell: (row) => gradeChip(row) },
      numberColumn("contribution", "Contribution", 4, signed),
    ],
  });
}

const rankText = (rank) => (Number.isNaN(rank) ? UNDEFINED : integer(rank));

/** Rows as the library's `document_moves` gives them. */
function moveRows(topic, moves) {
  const isShown = (rank) => rank > 0 && rank <= data.documents.depth;
  return moves
    .filter((move) => isShown(move.before) || isShown(move.after) || move.contribution)
    .map((move) => ({
      topic,
      document: move.document,
      baseline_rank: move.before || NaN,
      system_rank: move.after || NaN,
      change: move.change,
      grade: move.grade ?? NaN,
      contribution: move.contribution,
    }));
}

/** The document part of a query; hidden where the report was made without runs. */
function showRankings(table, it, topic) {
  byId("documents").hidden = !data.documents;
  if (!data.documents) return;
  const found = movesOf(topic, it.system, it.baseline);
  byId("documents-left-out").textContent = data.documents.left_out;
  byId("rankings").hidden = byId("all-moves").hidden = !found;
  if (!found) {
    const missing = held.has(topic) ? `the ranking of ${it.system}` : "the rankings of this query";
    byId("documents-lead").textContent = `This file does not hold ${missing}.`;
    byId("documents-remark").textContent = "";
    return;
  }
  byId("documents-lead").textContent = changeWords(it, topic, found);
  byId("documents-remark").textContent = [doubtWords(it, topic), remarkWords(found)].filter(Boolean).join(" ");
  drawLists(it, found);
  byId("all-moves").hidden = !found.paired;
  table.update(moveRows(topic, found.moves));
}

function remarkWords(found) {
  const line = found.edge < data.documents.depth ? `Documents below the dashed line do not count for ${current.name}.` : "";
  return [line, unjudgedWords(found)].filter(Boolean).join(" ");
}

function unjudgedWords({ moves, edge }) {
  const shown = moves.filter((move) => [move.before, move.after].some((rank) => rank > 0 && rank <= edge));
  const unjudged = shown.filter((move) => move.grade === null).length;
  if (!unjudged) return "";
  const which = `${integer(unjudged)} of the ${integer(shown.length)} documents that count here`;
  return `${which} ${unjudged === 1 ? "is" : "are"} not judged (${UNJUDGED}) and taken as not relevant.`;
}

function drawLists(it, found) {
  const host = byId("rankings");
  const most = Math.max(...found.moves.map((move) => Math.abs(move.contribution) || 0), 1e-12);
  const before = rankedList("before", `Before: ${it.baseline}`, found, most);
  const after = rankedList("after", found.paired ? `Now: ${it.system}` : it.system, found, most);
  const ways = drawn("svg", { class: "ways", "aria-hidden": "true" });
  host.classList.toggle("single", !found.paired);
  host.replaceChildren(...(found.paired ? [before, ways, after] : [after]));
  redrawWays = () => drawWays(ways, found.moves, most);
  redrawWays();
}

// The lines follow the rows, whose heights change with the width and with every text that is opened.
let redrawWays = () => {};
new ResizeObserver(oncePerFrame(() => redrawWays())).observe(byId("rankings"));

/** One ranking: a heading and a list whose rows arrow keys walk; left and right lead to the other ranking. */
function rankedList(side, title, { moves, edge, whole }, most) {
  const shown = moves
    .filter((move) => move[side] > 0 && move[side] <= data.documents.depth)
    .sort((a, b) => a[side] - b[side]);
  const rows = shown.map((move, k) => documentRow(move, side, { most, edge, whole, first: k === 0 }));
  const list = element("ol", { class: "ranked", onkeydown: (event) => walk(event, list, side) }, ...rows);
  const other = element("span", { class: "way" }, side === "before" ? "now at" : "was at");
  const head = element("h4", {}, element("span", {}, title), other);
  return element("section", { class: side, "aria-label": title }, head, list);
}

function documentRow(move, side, { most, edge, whole, first }) {
  const row = element(
    "button",
    {
      type: "button",
      class: "row",
      tabindex: first ? "0" : "-1",
      "aria-expanded": move.text ? "false" : null,
      "aria-label": `${move[side]}: ${move.document}, ${gradeWords(move)}, ${wayWords(move)}${costWords(move)}`,
      "data-document": move.index,
      onclick: () => open(row, move),
      onfocus: () => light(move.index),
      onblur: () => light(null),
    },
    element("span", { class: "rank" }, integer(move[side])),
    gradeChip(move),
    element("span", { class: "id", title: move.document }, move.document),
    element("span", { class: "way" }, wayText(move, side, whole)),
    costCell(move, side, most),
  );
  const text = move.text ? element("p", { class: "document-text", dir: "auto" }, move.text) : null;
  const kind = move[side] > edge ? "document beyond" : move[side] === edge ? "document edge" : "document";
  return element(
    "li",
    { class: kind, onpointerenter: () => light(move.index), onpointerleave: () => light(null) },
    row,
    text,
  );
}

const gradeChip = ({ grade }) => {
  const known = grade !== null && !Number.isNaN(grade);
  const kind = known ? `g${Math.floor(Math.max(0, Math.min(grade, 4)))}` : "unjudged";
  const title = known ? `grade ${grade}` : "not judged";
  return element("span", { class: `grade ${kind}`, title }, known ? String(grade) : UNJUDGED);
};

const costWords = (move) => (move.contribution ? `, ${signed(move.contribution, 4)}` : "");

/** Where the document is in the other list. */
function wayText(move, side, whole) {
  const other = move[SIDES[side]];
  const arrow = { rose: "↑", in: "↑", fell: "↓", out: "↓", same: "=" }[move.change];
  if (move.change === "same") return "=";
  if (!other && !whole) return `> ${data.documents.depth}`;
  if (!other) return side === "before" ? "out" : "new";
  return `${arrow} ${integer(other)}`;
}

/** What the move cost: beside the document in its new place, or at the place that it left. */
function costCell(move, side, most) {
  const isShown = move.contribution && (move.change === "out") === (side === "before");
  if (!isShown) return element("span", { class: "cost" });
  const kind = move.contribution < 0 ? "loss" : "gain";
  const bar = drawn(
    "svg",
    { class: "meter", viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
    drawn("rect", { class: kind, height: 6, width: at((100 * Math.abs(move.contribution)) / most) }),
  );
  return element("span", { class: `cost ${kind}` }, signed(move.contribution, 4), bar);
}

/** Shows all of a document's text, or its beginning. */
function open(row, move) {
  if (!move.text) return;
  const shut = row.getAttribute("aria-expanded") === "false";
  row.setAttribute("aria-expanded", String(shut));
}

/** Marks a document in both lists, and its line. */
function light(index) {
  for (const node of byId("rankings").querySelectorAll("[data-document]"))
    node.classList.toggle("lit", index !== null && node.dataset.document === String(index));
}

function walk(event, list, side) {
  const rows = [...list.querySelectorAll(".row")];
  const own = rows.indexOf(document.activeElement);
  const steps = { ArrowDown: own + 1, ArrowUp: own - 1, Home: 0, End: rows.length - 1 };
  let target = rows[steps[event.key]];
  if (event.key === (side === "before" ? "ArrowRight" : "ArrowLeft"))
    target = byId("rankings").querySelector(`.${SIDES[side]} [data-document="${rows[own]?.dataset.document}"]`);
  if (!target) return;
  event.preventDefault();
  for (const row of target.closest("ol").querySelectorAll(".row")) row.tabIndex = -1;
  target.tabIndex = 0;
  target.focus();
}

/** A line for each document that both lists show: thick as its contribution is large, grey where it has none. */
function drawWays(svg, moves, most) {
  const frame = svg.getBoundingClientRect();
  svg.replaceChildren();
  if (!frame.width) return;
  svg.setAttribute("viewBox", `0 0 ${at(frame.width)} ${at(frame.height)}`);
  const height = (side, move) => {
    const row = byId("rankings").querySelector(`.${side} [data-document="${move.index}"]`);
    const box = row?.getBoundingClientRect();
    return box ? box.top + box.height / 2 - frame.top : null;
  };
  for (const move of [...moves].sort((a, b) => Math.abs(a.contribution) - Math.abs(b.contribution))) {
    const [y1, y2] = [height("before", move), height("after", move)];
    if (y1 === null || y2 === null) continue;
    const share = Math.abs(move.contribution) / most || 0;
    const half = frame.width / 2;
    svg.append(
      drawn("path", {
        d: `M0 ${at(y1)}C${at(half)} ${at(y1)} ${at(half)} ${at(y2)} ${at(frame.width)} ${at(y2)}`,
        class: `way ${share ? (move.contribution < 0 ? "loss" : "gain") : "none"}`,
        "stroke-width": at(1 + 6 * share),
        "data-document": move.index,
      }),
    );
  }
}
