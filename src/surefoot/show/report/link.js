// What is shown, as the fragment of the page's address, so that a link leads to it.

/** Names in the address, and the state that they stand for; a name that the page does not have is no state. */
const LINKED = {
  measure: { key: "measure", read: (text) => (data.measures.some((one) => one.name === text) ? text : null) },
  system: { key: "system", read: (text) => (place.has(text) ? text : null) },
  baseline: { key: "baseline", read: (text) => (place.has(text) || virtual.has(text) ? text : null) },
  alpha: { key: "alpha", read: readAlpha },
  query: { key: "topic", read: (text) => (topicPlace.has(text) ? text : null) },
};

function readAlpha(text) {
  const alpha = Number(text);
  return text !== "" && alpha >= 0 && alpha <= data.largest_alpha ? alpha : null;
}

function fragmentOf(state) {
  const shown = Object.entries(LINKED).map(([name, { key }]) => [name, String(state[key])]);
  return `#${new URLSearchParams(shown)}`;
}

/** The state that a fragment stands for, and what in it this page does not have. */
function readFragment(fragment) {
  const found = { state: {}, unknown: [] };
  for (const [name, text] of new URLSearchParams(fragment.replace(/^#/, ""))) {
    if (!Object.hasOwn(LINKED, name)) continue;
    const value = LINKED[name].read(text);
    if (value === null) found.unknown.push(`${name} ${text}`);
    else found.state[LINKED[name].key] = value;
  }
  return found;
}

/** Keeps the address in step with the state; a choice of the reader can be gone back from, a slider's way can't. */
let resting = 0;
function remember(state, choice) {
  clearTimeout(resting);
  const write = () => {
    const fragment = fragmentOf(state);
    if (fragment === location.hash) return;
    if (choice) history.pushState(null, "", fragment);
    else history.replaceState(null, "", fragment);
  };
  if (choice) write();
  else resting = setTimeout(write, 300);
}
