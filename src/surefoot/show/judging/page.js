// One document at a time, and a key for each grade.

let at = Math.max(nextOpen(0), 0);

const judgmentsOf = (count) => `${count} judgment${count === 1 ? "" : "s"}`;

const say = (text) => {
  byId("notice").textContent = text;
};

function draw() {
  const each = documents[at];
  const grade = judgments.get(at);
  byId("progress").textContent = `document ${at + 1} of ${documents.length}, ${judgments.size} judged`;
  byId("topic").textContent = each.topic;
  byId("query").textContent = each.query || each.topic;
  byId("document").textContent = each.document;
  byId("own").replaceChildren(...(grade === undefined ? [] : [chip(grade)]));
  byId("text").textContent = each.text || "The text of this document was not given; look it up by its id.";
  byId("text").classList.toggle("quiet", !each.text);
  for (const button of byId("grades").children)
    button.setAttribute("aria-pressed", String(Number(button.dataset.grade) === grade));
  byId("previous").disabled = at === 0;
  byId("next").disabled = at === documents.length - 1;
  byId("clear").disabled = grade === undefined;
  byId("open-one").disabled = nextOpen(at + 1) < 0;
  byId("save").disabled = judgments.size === 0;
  drawStrip();
}

const chip = (grade) =>
  element("span", { class: `grade g${Math.min(grade, 4)}`, title: `grade ${grade}` }, String(grade));

/** All documents as a strip: judged, open, and the one that is shown. */
function drawStrip() {
  const kind = (index) => (index === at ? "here" : judgments.has(index) ? "judged" : "open");
  byId("strip").setAttribute("viewBox", `0 0 ${documents.length} 1`);
  byId("strip").replaceChildren(
    ...documents.map((_, x) => drawn("rect", { x, width: 0.88, height: 1, class: kind(x) })),
  );
}

function go(index) {
  if (index < 0 || index >= documents.length) return;
  at = index;
  say("");
  draw();
  byId("document").focus();
  window.scrollTo(0, 0);
}

function give(grade) {
  judge(at, grade);
  const next = nextOpen(at + 1);
  if (next >= 0) return go(next);
  draw();
  return say(`All ${documents.length} are judged. Save the qrels, and merge them into your judgments.`);
}

function clear() {
  judge(at, null);
  draw();
}

function save() {
  if (!judgments.size) return;
  download(`${data.name}.qrels`, qrels());
  unsaved = false;
  say(`${judgmentsOf(judgments.size)} of ${documents.length} saved as ${data.name}.qrels.`);
}

async function continueFrom(file) {
  const taken = takeIn(await file.text());
  keep();
  draw();
  const none = `${file.name} has no judgments of these documents.`;
  say(taken ? `${judgmentsOf(taken)} read from ${file.name}.` : none);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.type === "file") return;
  const keys = {
    ArrowLeft: () => go(at - 1),
    ArrowRight: () => go(at + 1),
    n: () => go(nextOpen(at + 1)),
    s: save,
    Backspace: clear,
    Delete: clear,
  };
  const grade = data.grades.find((each) => event.key === String(each));
  if (grade === undefined && !Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  if (grade !== undefined) give(grade);
  else keys[event.key]();
}

function gradeButton(grade, k, all) {
  const word = k === 0 ? "not relevant" : k === all.length - 1 ? (all.length > 2 ? "most relevant" : "relevant") : "";
  return element(
    "button",
    { type: "button", "data-grade": grade, onclick: () => give(grade) },
    element("kbd", {}, String(grade)),
    word ? ` ${word}` : null,
  );
}

function start() {
  byId("grades").append(...data.grades.map(gradeButton));
  const actions = {
    previous: () => go(at - 1),
    next: () => go(at + 1),
    "open-one": () => go(nextOpen(at + 1)),
    clear,
    save,
  };
  for (const [id, action] of Object.entries(actions)) byId(id).addEventListener("click", action);
  byId("continue").addEventListener("change", (event) => continueFrom(event.target.files[0]));
  document.addEventListener("keydown", onKey);
  window.addEventListener("beforeunload", (event) => {
    if (unsaved && !keeps) event.preventDefault();
  });
  byId("kept").textContent = keeps
    ? "Judgments are kept in this browser until you save them; nothing is sent anywhere."
    : "This browser keeps nothing for this page: save before you close it. Nothing is sent anywhere.";
  draw();
  if (judgments.size) say(`${judgmentsOf(judgments.size)} kept from an earlier visit.`);
}

start();
