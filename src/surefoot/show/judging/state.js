// The judgments so far, kept in the browser where it allows that.

const data = JSON.parse(document.getElementById("data").textContent);
const documents = data.documents;
const keyOf = ({ topic, document: name }) => `${topic} ${name}`;
const placeOf = new Map(documents.map((each, index) => [keyOf(each), index]));

const judgments = new Map();
let unsaved = false;

/** Whether this browser keeps anything for this page; it may not, for one that was opened from a file. */
const keeps = (() => {
  try {
    localStorage.setItem(`${data.key}-probe`, "1");
    localStorage.removeItem(`${data.key}-probe`);
    return true;
  } catch {
    return false;
  }
})();

function keep() {
  if (keeps) localStorage.setItem(data.key, qrels());
}

/** Give a document a grade, or take it back with null. */
function judge(index, grade) {
  if (grade === null) judgments.delete(index);
  else judgments.set(index, grade);
  unsaved = judgments.size > 0;
  keep();
}

/** Between the fields of qrels: a tab if some name holds a blank. */
const between = documents.some(({ topic, document }) => /\s/.test(topic + document)) ? "\t" : " ";

/** The judgments as lines of qrels, in the order of the documents. */
function qrels() {
  const lines = [...judgments]
    .sort(([a], [b]) => a - b)
    .map(([index, grade]) => [documents[index].topic, 0, documents[index].document, grade].join(between) + "\n");
  return lines.join("");
}

/** Take in lines of qrels; returns how many are of this page's documents. */
function takeIn(text) {
  let taken = 0;
  for (const line of text.split("\n")) {
    const [topic, , name, grade] = line.trim().split(between === "\t" ? /\t/ : /\s+/);
    const index = placeOf.get(keyOf({ topic, document: name }));
    if (index === undefined || !data.grades.includes(Number(grade))) continue;
    judgments.set(index, Number(grade));
    taken += 1;
  }
  return taken;
}

if (keeps) takeIn(localStorage.getItem(data.key) ?? "");

/** The next document without a grade, from a place on and round to it; -1 if all have one. */
function nextOpen(from) {
  const order = documents.map((_, k) => (from + k) % documents.length);
  return order.find((index) => !judgments.has(index)) ?? -1;
}
