// The head of the page: what the phase is, since when, who is missing and why, what failed first.

const PHASES = {
  Pending: { tone: "wait", sign: "i-wait" },
  Running: { tone: "run", sign: "i-run" },
  Paused: { tone: "calm", sign: "i-pause" },
  Resuming: { tone: "wait", sign: "i-wait" },
  Succeeded: { tone: "good", sign: "i-done" },
  Failed: { tone: "bad", sign: "i-bad" },
  Unknown: { tone: "odd", sign: "i-silent" },
};
const ICONS = {
  wait: "%23b47a0a", run: "%232f7fd6", good: "%232a9a5b", bad: "%23d0392f", odd: "%238159d6", calm: "%23808a95",
};
const TITLES = {
  starting: "Starting", waiting: "Waiting", launching: "Launching", running: "Running", ready: "Ready",
  idle: "Idle", paused: "Paused", resuming: "Resuming", ending: "Ending", ended: "Ended",
};

function dressOf(status) {
  if (status.stage === "ready" || status.stage === "idle") return { tone: "calm", sign: "i-ready" };
  return PHASES[status.phase] || PHASES.Unknown;
}

// One or two words for where the job is: the stage says more than the phase until it is over.
function titleOf(status) {
  if (status.outcome || status.phase === "Unknown") return status.phase;
  return TITLES[status.stage] || capital(status.stage);
}

function readyOf(workers) {
  return workers.filter((one) => one.ready && one.kind !== "lost" && one.kind !== "silent").length;
}

function sentenceOf(view, ready, busy) {
  const { status } = view;
  if (status.outcome) {
    const { code, fault, message, failures } = status.outcome;
    const told = !failures || !failures.length || failures[0].message === message; // below, at length
    if (message && !told && fault !== "none") return message;
    if (code === 0) return busy ? `The job ended well on ${count(busy, "worker")}.` : "The job ended well.";
    return FAULTS[fault] ? `Exit code ${code}: ${FAULTS[fault]}.` : `Exit code ${code}.`;
  }
  const expected = status.expected ?? null;
  const ranks = status.ranks;
  switch (status.stage) {
    case "starting": return "The agent makes itself ready.";
    case "waiting":
    case "resuming":
      return expected === null
        ? `${count(ready, "worker")} ready; how many will come is not known yet.`
        : `${ready} of ${count(expected, "worker")} ready.`;
    case "launching": return `mpirun is being started on ${count(ready, "worker")}.`;
    case "running":
      if (!ranks) return status.role === "worker" ? "This worker serves a job." : "The job runs.";
      if (ranks.started < ranks.expected) return `${ranks.started} of ${count(ranks.expected, "rank")} started.`;
      if (ranks.ended) return `${ranks.ended} of ${count(ranks.expected, "rank")} ended.`;
      return `${count(ranks.expected, "rank")} on ${count(busy || ready, "worker")}.`;
    case "ready": return "This worker is ready, and no launcher holds it.";
    case "idle": return "Debug mode: `mpiboot run` in this container starts the job.";
    case "paused": return "The ranks are stopped; `mpiboot resume` starts them again.";
    case "ending": return "The job is over; the verdict is being found.";
    default: return "";
  }
}

function drawNow(view, workers) {
  const { status } = view;
  const { tone, sign: icon } = dressOf(status);
  const title = titleOf(status);
  look(at("now"), `now ${tone}`);
  attr(at("sign"), "href", `#${icon}`);
  text(at("phase"), title);
  const ready = readyOf(workers);
  text(at("sentence"), sentenceOf(view, ready, workers.filter((one) => one.ranks.length).length));
  said(at("command"), (status.command || []).map(quoted).join(" "));
  text(at("from"), view.from);
  text(at("version"), `mpiboot ${status.version}`);
  const word = status.expected && status.stage === "waiting" ? `${title} ${ready}/${status.expected}` : title;
  document.title = `${word} - ${view.from} - mpiboot`;
  const drawn = `data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><circle cx='8' cy='8' r='7' fill='${ICONS[tone]}'/></svg>`;
  attr(document.querySelector("link[rel=icon]"), "href", drawn);
  text(at("told"), `Phase: ${title}. ${status.outcome ? at("sentence").textContent : ""}`);
  drawGauge(view, workers, tone);
}

function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function drawGauge(view, workers, tone) {
  const { status } = view;
  const waits = ["waiting", "resuming"].includes(status.stage) && status.expected > 0;
  show(at("gauge"), waits);
  if (waits) wide(at("gauge-bar"), share(readyOf(workers), status.expected));
  look(at("gauge"), `gauge ${tone}`);
  const bounded = waits && view.deadline_s > 0 && view.waited_s !== null;
  said(at("gauge-text"), bounded ? `Gives up after ${seconds(view.deadline_s)}; ${ticks(view.deadline_s - view.waited_s)} left.` : "");
}

// Since when, told anew each second between two documents.
function drawSince(view, now) {
  const stages = view.status.stages;
  const last = stages[stages.length - 1];
  const began = Date.parse(last.since);
  const over = view.status.stage === "ended";
  if (!over) {
    text(at("since"), `for ${ticks((now - began) / 1000)}, since ${clock(began, now)}`);
  } else {
    const whole = (began - Date.parse(stages[0].since)) / 1000;
    text(at("since"), `at ${clock(began, now)}, after ${seconds(whole)}`);
  }
}

function drawSums(view, workers) {
  const { status } = view;
  const ready = readyOf(workers);
  const over = Boolean(status.outcome);
  const live = over ? [] : workers; // what was measured last is of no use after the end
  const measured = live.filter((one) => one.cpu_percent !== null && one.cpus);
  const filled = live.filter((one) => one.memory_bytes !== null);
  const gpus = live.flatMap((one) => one.gpus);
  const sums = over ? [["Exit code", status.outcome.code, ""]] : [];
  const expected = status.expected ?? workers.length; // 0: nobody is known yet
  if (!over && expected) sums.push(["Workers", ready, status.expected === null ? "so far" : `of ${expected} ready`]);
  else if (over) sums.push(["Workers", workers.filter((one) => one.ready || one.slots !== null).length, `of ${expected} came`]);
  const slots = sum(workers, (one) => one.slots || 0);
  if (status.ranks) {
    const { started, ended } = status.ranks;
    sums.push(["Ranks", over ? started : started - ended, `of ${status.ranks.expected} ${over ? "started" : "running"}`]);
  }
  if (!status.ranks && slots) sums.push(["Slots", slots, ""]);
  if (measured.length) {
    const cpus = sum(measured, (one) => one.cpus);
    sums.push(["CPU", `${Math.round(sum(measured, (one) => one.cpu_percent) / cpus)} %`, `of ${Number(cpus.toFixed(1))}`]);
  }
  if (filled.length) {
    const { number, unit } = bytes(sum(filled, (one) => one.memory_bytes));
    sums.push(["Memory", number, unit]);
  }
  if (gpus.length) sums.push(["GPUs", `${Math.round(sum(gpus, (one) => one.busy_percent || 0) / gpus.length)} %`, `of ${gpus.length}`]);
  if ((status.attempts || []).length > 1) sums.push(["Attempt", status.attempts.length, ""]);
  const make = () => el("div", "", el("dt"), el("dd", "", el("span"), " ", el("small")));
  follow(at("sums"), sums, (one) => one[0], make, (node, [name, value, unit]) => {
    text(node.firstChild, name);
    text(node.lastChild.firstChild, value);
    text(node.lastChild.lastChild, unit);
  });
}

function drawMissing(view, workers) {
  const { outcome } = view.status;
  const bad = outcome && (outcome.ran || !outcome.code) ? [] : workers.filter((one) => ["waiting", "refused", "lost", "silent"].includes(one.kind));
  const groups = new Map();
  for (const worker of bad) {
    const why = worker.kind === "lost" || worker.kind === "silent" ? KINDS[worker.kind].label.toLowerCase() : worker.state;
    if (!groups.has(why)) groups.set(why, []);
    groups.get(why).push(worker);
  }
  const begun = view.status.stage !== "starting";
  show(at("missing"), begun && groups.size > 0);
  const harm = bad.some((one) => one.kind !== "waiting");
  look(at("missing"), `card ${harm ? "bad" : "wait"}`);
  attr(at("missing-sign"), "href", harm ? "#i-lost" : "#i-wait");
  text(at("missing-title"), bad.some((one) => ["waiting", "refused"].includes(one.kind)) ? "Who is missing" : "Who was lost");
  const make = () => el("li", "", el("b", "t"), el("span", "who t", el("span"), el("span", "why")), el("span", "for"));
  follow(at("missing-list"), [...groups], (one) => one[0], make, (node, [why, them]) => {
    const [what, who, since] = node.children;
    text(what, capital(why));
    const rest = them.length - 5;
    const names = them.slice(0, rest > 1 ? 5 : 6).map((one) => one.name).join(", ");
    text(who.firstChild, rest > 1 ? `${names}, and ${rest} more` : names);
    const detail = ["waiting", "refused"].includes(them[0].kind) ? them[0].detail : them[0].reason;
    said(who.lastChild, detail === them[0].name ? "" : detail);
    const timed = TIMED.has(them[0].kind);
    text(since, timed ? `for ${ticks(Math.max(...them.map((one) => one.since_s || 0)))}` : "");
  });
}

function drawFailures(outcome) {
  const failed = Boolean(outcome && outcome.code !== 0);
  show(at("failed"), failed);
  if (!failed || at("failures").drawn === JSON.stringify(outcome)) return;
  at("failures").drawn = JSON.stringify(outcome);
  const failures = outcome.failures || [];
  const ranked = failures.find((one) => one.rank !== undefined && one.rank !== null);
  const first = failures[0] || { message: outcome.message };
  const facts = [
    ["Rank", first.rank], ["Host", first.host], [first.signal ? "Signal" : "Exit code", ending(first)],
    ["First rank that failed", ranked && ranked !== first ? `${ranked.rank} on ${ranked.host || "?"}` : null],
  ].filter(([, value]) => value !== null && value !== undefined && value !== "");
  const parts = [el("p", "first t", first.message)];
  if (facts.length) parts.push(el("dl", "facts", ...facts.map(([name, value]) => el("div", "", el("dt", "", name), el("dd", "t", String(value))))));
  if (first.stderr && first.stderr.length) parts.push(pre(first.stderr, "Last lines of what failed first"));
  if (failures.length > 1) {
    const list = el("ul", "", ...failures.slice(1, 9).map((one) => el("li", "t", one.message)));
    if (failures.length > 9) list.append(el("li", "faint", `and ${failures.length - 9} more`));
    parts.push(el("div", "then", el("h3", "", "Then"), list));
  }
  at("failures").replaceChildren(...parts);
  for (const one of at("failures").querySelectorAll("pre")) one.scrollTop = one.scrollHeight; // the last words
}

function pre(said, name) {
  const node = el("pre", "text", said.join("\n"));
  node.tabIndex = 0;
  node.setAttribute("role", "group");
  node.setAttribute("aria-label", name);
  return node;
}

function drawTimeline(view, now) {
  const { stages, stage, attempts } = view.status;
  const steps = stages.map((one, place) => {
    const began = Date.parse(one.since);
    const next = stages[place + 1];
    return { ...one, began, took: next ? (Date.parse(next.since) - began) / 1000 : null, last: !next };
  });
  const { tone } = dressOf(view.status);
  const make = () => el("li", "", el("i"), el("b"), el("span", "took"), el("span", "began", el("time")));
  lines(at("timeline"), steps, make, (node, step) => {
    const [, name, took, began] = node.children;
    look(node, step.last ? `at ${tone}` : "");
    const lasted = step.took === null ? (now - step.began) / 1000 : step.took;
    const grow = (1 + Math.log10(1 + Math.max(0, lasted))).toFixed(1);
    if (node.style.flexGrow !== grow) node.style.flexGrow = grow;
    attr(node, "aria-current", step.last ? "step" : null);
    text(name, step.stage);
    const so_far = stage === "ended" ? "" : ticks((now - step.began) / 1000);
    text(took, step.took === null ? so_far : seconds(step.took));
    text(began.firstChild, clock(step.began, now));
    attr(began.firstChild, "datetime", step.since);
  });
  const tried = attempts || [];
  show(at("attempts"), tried.length > 1);
  const makeAttempt = () => el("li", "", el("span"), el("span", "faint"), el("span", "t"));
  lines(at("attempts"), tried, makeAttempt, (node, one) => {
    const [what, when, how] = node.children;
    text(what, `Attempt ${one.number}${one.kind === "first" ? "" : `: ${one.kind.replace("-", " ")}`}`);
    text(when, clock(Date.parse(one.began), now));
    text(how, one.outcome ? `exit code ${one.outcome.code}: ${one.outcome.message}`.replace(/: $/, "") : "this one");
  });
}
