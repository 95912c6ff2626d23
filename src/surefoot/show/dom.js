// Making elements. Names and numbers only ever go in as text, so that no name can become markup.

const byId = (id) => document.getElementById(id);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false)
      node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const element = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const drawn = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

/** A name that leads somewhere. */
const link = (name, go, description) =>
  element("button", { type: "button", class: "name", title: description, onclick: () => go(name) }, name);

/** The next frame draws; what happens until then counts once. */
function oncePerFrame(action) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      action();
    });
  };
}

const csvCell = (value) => {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  // A spreadsheet would run a name that starts like a formula; an apostrophe keeps it a name.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** Rows as CSV, the signature in the last column as in all of Surefoot's CSV. */
function csv(rows, signature) {
  const names = Object.keys(rows[0] ?? {});
  const lines = rows.map((row) => [...names.map((name) => csvCell(row[name])), csvCell(signature)].join(","));
  return `${[[...names, "signature"].join(","), ...lines].join("\n")}\n`;
}

function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  element("a", { href: address, download: name.replace(/[^\w.+-]+/g, "_") }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
