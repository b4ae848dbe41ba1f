// The workers: tiles while they are few, cells while they are many, those in trouble always first.

const chosen = { group: "all", words: "", form: "auto", shade: "state", worker: null };
const FEW = 8; // workers that need no search
const SHOWN_TROUBLE = 6; // tiles above the grid
let focused = null; // the cell that Tab reaches

const GROUPS = [
  ["all", "All"], ["trouble", "In trouble"], ["missing", "Missing"], ["ready", "Ready"], ["running", "Running"],
  ["done", "Done"],
];

function drawWorkers(view, workers) {
  const counts = { all: workers.length, trouble: 0, missing: 0, ready: 0, running: 0, done: 0 };
  for (const worker of workers) counts[KINDS[worker.kind].group] += 1;
  if (!counts[chosen.group] && chosen.group !== "all") chosen.group = "all";
  drawKinds(counts);
  const cells = chosen.form === "grid" || (chosen.form === "auto" && workers.length > MANY);
  const fits = workers.filter(
    (one) => (chosen.group === "all" || KINDS[one.kind].group === chosen.group) && matches(one, chosen.words),
  );
  const sorted = [...fits].sort((a, b) => KINDS[a.kind].rank - KINDS[b.kind].rank || a.place - b.place);
  const trouble = sorted.filter((one) => KINDS[one.kind].group === "trouble");
  const tiles = cells ? trouble.slice(0, SHOWN_TROUBLE) : sorted;
  follow(at("tiles"), tiles, (one) => one.name, makeTile, fillTile);
  show(at("grid"), cells);
  show(at("legend"), cells && fits.length > 0);
  show(at("shade-pick"), cells);
  follow(at("grid"), cells ? sorted : [], (one) => one.name, makeCell, fillCell);
  if (cells) drawLegend(workers);
  keepFocusable(cells ? sorted : []);
  const beyond = cells && trouble.length > SHOWN_TROUBLE ? `; ${trouble.length - SHOWN_TROUBLE} more in trouble are in the grid` : "";
  const filtered = fits.length === workers.length ? "" : `${fits.length} of ${workers.length} shown`;
  text(at("shown"), workers.length ? `${filtered}${beyond}`.replace(/^; /, "") : "None is known yet.");
  show(at("shown"), Boolean(at("shown").textContent));
  show(at("kinds"), new Set(workers.map((one) => KINDS[one.kind].group)).size > 1 || chosen.group !== "all");
  show(at("find-pick"), workers.length > FEW);
  show(at("form-pick"), workers.length > FEW);
  drawDetail(workers, cells);
}

function drawKinds(counts) {
  const there = GROUPS.filter(([key]) => counts[key] || key === "all");
  const make = ([key]) => {
    const button = el("button", "", el("b"), " ", el("span"));
    button.type = "button";
    button.addEventListener("click", () => choose({ group: key }));
    return button;
  };
  follow(at("kinds"), there, (one) => one[0], make, (button, [key, label]) => {
    text(button.firstChild, label);
    text(button.lastChild, counts[key]);
    attr(button, "aria-pressed", String(chosen.group === key));
  });
}

function makeCell(worker) {
  const cell = el("button", "cell");
  cell.type = "button";
  cell.tabIndex = -1;
  cell.worker = worker.name;
  return cell;
}

function fillCell(cell, worker) {
  const { label, tone, mark, group } = KINDS[worker.kind];
  let dress = tone;
  let measure = "";
  if (chosen.shade !== "state" && group !== "trouble" && group !== "missing") {
    const part = SHADES[chosen.shade](worker);
    dress = part === null ? "none" : `h${Math.min(4, Math.floor(part * 5))}`;
    measure = part === null ? ", not known" : chosen.shade === "beat" ? `, heartbeat ${seconds(worker.heartbeat_age_s)} ago` : `, ${Math.round(part * 100)} %`;
  }
  look(cell, `cell ${dress}`);
  text(cell, mark);
  const name = `${worker.name}, ${label}${measure}`;
  attr(cell, "aria-label", name);
  attr(cell, "title", name);
  attr(cell, "aria-pressed", chosen.worker === worker.name ? "true" : "false");
}

function drawLegend(workers) {
  const there = new Set(workers.map((one) => one.kind));
  const states = Object.entries(KINDS)
    .filter(([kind, one]) => there.has(kind) && (chosen.shade === "state" || ["trouble", "missing"].includes(one.group)))
    .map(([kind, one]) => ({ key: kind, dress: one.tone, mark: one.mark, words: one.label }));
  const steps = (SHADE_STEPS[chosen.shade] || []).map((words, place) => ({ key: `h${place}`, dress: `h${place}`, mark: "", words }));
  const unknown = chosen.shade === "state" ? [] : [{ key: "none", dress: "none", mark: "", words: "not known" }];
  const make = () => el("li", "", el("span", "cell"), el("span"));
  follow(at("legend"), [...states, ...steps, ...unknown], (one) => one.key, make, (node, one) => {
    look(node.firstChild, `cell ${one.dress}`);
    text(node.firstChild, one.mark);
    text(node.lastChild, one.words);
  });
}

// The chosen cell's worker, whole.
function drawDetail(workers, cells) {
  const worker = cells && chosen.worker !== null ? workers.find((one) => one.name === chosen.worker) : null;
  show(at("detail"), Boolean(worker));
  if (!worker) return;
  const aside = at("detail");
  if (!aside.firstChild) {
    const close = el("button", "plainly", "Close");
    close.type = "button";
    close.addEventListener("click", () => unchoose());
    const tile = el("div", "tile", ...makeTile().children);
    aside.append(tile);
    tile.append(el("dl", "facts"), close);
  }
  const tile = aside.firstChild;
  fillTile(tile, worker);
  const facts = [["State", worker.state], ["Lease", worker.lease], ["For", ticks(worker.since_s || 0)], ["MPI", worker.mpi], ["mpiboot", worker.version]];
  const make = () => el("div", "", el("dt"), el("dd", "t"));
  follow(tile.children[5], facts.filter((one) => one[1]), (one) => one[0], make, (node, [name, value]) => {
    text(node.firstChild, name);
    text(node.lastChild, value);
  });
}

function choose(change) {
  Object.assign(chosen, change);
  redraw();
}

function unchoose() {
  const cell = at("grid").byKey.get(chosen.worker);
  choose({ worker: null });
  if (cell) cell.focus();
}

// One cell is in the tab order; arrow keys move among the others.
function keepFocusable(sorted) {
  const cells = at("grid").byKey;
  const name = sorted.some((one) => one.name === focused) ? focused : sorted.length ? sorted[0].name : null;
  if (focused !== name && cells.get(focused)) cells.get(focused).tabIndex = -1;
  focused = name;
  if (name !== null && cells.get(name).tabIndex !== 0) cells.get(name).tabIndex = 0;
}

function moveFocus(event) {
  const cell = event.target.closest(".cell");
  if (!cell) return;
  const all = [...at("grid").children];
  const columns = getComputedStyle(at("grid")).gridTemplateColumns.split(" ").length;
  const steps = {
    ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns,
    Home: -Infinity, End: Infinity, PageDown: columns * 5, PageUp: -columns * 5,
  };
  if (!(event.key in steps)) return;
  event.preventDefault();
  const place = Math.min(all.length - 1, Math.max(0, all.indexOf(cell) + steps[event.key]));
  cell.tabIndex = -1;
  focused = all[place].worker;
  all[place].tabIndex = 0;
  all[place].focus();
}

at("grid").addEventListener("keydown", moveFocus);
at("grid").addEventListener("click", (event) => {
  const cell = event.target.closest(".cell");
  if (!cell) return;
  const before = at("grid").byKey.get(focused);
  if (before) before.tabIndex = -1;
  focused = cell.worker;
  cell.tabIndex = 0;
  choose({ worker: chosen.worker === cell.worker ? null : cell.worker });
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && chosen.worker !== null) unchoose();
});
at("find").addEventListener("input", (event) => choose({ words: event.target.value.trim().toLowerCase() }));
at("form").addEventListener("change", (event) => choose({ form: event.target.value }));
at("shade").addEventListener("change", (event) => choose({ shade: event.target.value }));
