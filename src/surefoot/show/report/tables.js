// A table to search, sort and leaf through. Only the rows of one page are in the document.

/**
 * `columns` are { key, head, text?, cell? }: `cell` makes what is shown of a row, `text` marks a column of words.
 * `sort` is { key, down }. `name` is the column to search. `file` gives name and content of the download.
 */
function makeTable(host, { caption, columns, sort, name, searchLabel, file, size = 25 }) {
  const state = { rows: [], found: [], page: 0, query: "", sort: { ...sort } };
  const heads = columns.map((column) => headOf(column, state, restart));
  const body = element("tbody");
  const count = element("span", { class: "count", role: "status" });
  const search = element("input", {
    type: "search",
    "aria-label": searchLabel,
    placeholder: searchLabel,
    oninput: () => {
      state.query = search.value.trim().toLowerCase();
      restart();
    },
  });
  const turn = (step, label) => {
    const go = () => {
      state.page += step;
      render();
    };
    return element("button", { type: "button", onclick: go }, label);
  };
  const before = turn(-1, "Previous");
  const after = turn(1, "Next");
  const pager = element("span", { class: "pager" }, before, after);
  const save = element(
    "button",
    { type: "button", onclick: () => download(...file(sorted(state.rows, state, columns))) },
    "Download CSV",
  );
  const table = element(
    "table",
    {},
    element("caption", { class: "unseen" }, caption),
    element("thead", {}, element("tr", {}, ...heads)),
    body,
  );
  host.replaceChildren(element("div", { class: "bar" }, search, count, pager, save), scrolling(caption, table));

  function find() {
    const wanted = (row) => row[name].toLowerCase().includes(state.query);
    state.found = sorted(state.query ? state.rows.filter(wanted) : state.rows, state, columns);
  }

  function restart() {
    state.page = 0;
    find();
    render();
  }

  function render() {
    const pages = Math.max(1, Math.ceil(state.found.length / size));
    state.page = Math.min(Math.max(state.page, 0), pages - 1);
    const first = state.page * size;
    const shown = state.found.slice(first, first + size);
    body.replaceChildren(...shown.map((row) => rowOfCells(row, columns)));
    heads.forEach((head, index) => showOrder(head, columns[index], state.sort));
    pager.hidden = pages === 1;
    before.disabled = state.page === 0;
    after.disabled = state.page === pages - 1;
    const range = pages === 1 ? integer(shown.length) : `${integer(first + 1)}–${integer(first + shown.length)}`;
    count.textContent = shown.length ? `${range} of ${integer(state.rows.length)}` : "nothing found";
  }

  return {
    /** Show other rows: sorted again, on the page that the reader is on. */
    update(rows) {
      state.rows = rows;
      find();
      render();
    },
    /** Forget search and page, for rows about something else. */
    reset() {
      state.query = search.value = "";
      state.page = 0;
    },
  };
}

/** What is wider than a phone scrolls on its own, by keyboard as well. */
const scrolling = (label, table) =>
  element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": label }, table);

/** A short table as it is: heads, and rows of cells of which the first is a name. */
function plainTable(caption, heads, rows) {
  const head = heads.map((word, k) => element("th", { scope: "col", class: k ? null : "text" }, word));
  const line = ([name, ...cells]) =>
    element("tr", {}, element("th", { scope: "row" }, name), ...cells.map((cell) => element("td", {}, cell)));
  return element(
    "table",
    { class: "short" },
    element("caption", { class: "unseen" }, caption),
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...rows.map(line)),
  );
}

function headOf(column, state, changed) {
  const order = () => {
    const down = state.sort.key === column.key ? !state.sort.down : !column.text;
    state.sort = { key: column.key, down };
    changed();
  };
  const arrow = element("span", { class: "arrow", "aria-hidden": "true" });
  const parts = column.text ? [column.head, arrow] : [arrow, column.head];
  return element(
    "th",
    { scope: "col", class: column.text ? "text" : null },
    element("button", { type: "button", onclick: order }, ...parts),
  );
}

function showOrder(head, column, sort) {
  if (column.key === sort.key) head.setAttribute("aria-sort", sort.down ? "descending" : "ascending");
  else head.removeAttribute("aria-sort");
}

function rowOfCells(row, columns) {
  const cells = columns.map((column, index) => {
    const kind = index ? "td" : "th";
    const shown = column.cell ? column.cell(row) : row[column.key];
    return element(kind, { scope: index ? null : "row", class: column.text ? "text" : null }, shown);
  });
  return element("tr", { class: row.chosen ? "chosen" : null }, ...cells);
}

const byName = new Intl.Collator("en", { numeric: true }).compare;

/** By the chosen column; what is undefined comes last either way, and equals keep their order. */
function sorted(rows, state, columns) {
  const { key, down } = state.sort;
  const sign = down ? -1 : 1;
  if (columns.find((column) => column.key === key).text)
    return [...rows].sort((a, b) => sign * byName(a[key], b[key]));
  return [...rows].sort((a, b) => {
    if (Number.isNaN(a[key]) || Number.isNaN(b[key])) return Number.isNaN(a[key]) - Number.isNaN(b[key]);
    return sign * (a[key] - b[key]);
  });
}

// A column of numbers with a given number of digits.
const numberColumn = (key, head, digits, show = fixed) => ({ key, head, cell: (row) => show(row[key], digits) });
