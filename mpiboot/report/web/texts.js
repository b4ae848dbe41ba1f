// The long texts: stderr, plan, hostfile, evidence, the agent's own log.

// New lines keep a reader at the end who was at the end, and leave alone one who has scrolled up.
function drawText(node, said) {
  const follows = node.scrollTop + node.clientHeight >= node.scrollHeight - 8;
  const words = said.join("\n");
  if (node.textContent === words) return;
  node.textContent = words;
  if (follows) node.scrollTop = node.scrollHeight;
}

function drawTexts(view) {
  drawText(at("stderr"), view.stderr);
  show(at("no-stderr"), view.stderr.length === 0);
  drawText(at("log-text"), view.log);
  text(at("log-sum"), view.log.length ? `last ${count(view.log.length, "line")}`.replace("last 1 ", "1 ") : "nothing so far");
  const hosts = view.hostfile.split("\n").filter(Boolean);
  drawText(at("hostfile-text"), hosts);
  text(at("hostfile-sum"), hosts.length ? count(hosts.length, "line") : "not written yet");
  const evidence = (view.status.outcome && view.status.outcome.evidence) || [];
  show(at("evidence"), evidence.length > 0);
  text(at("evidence-sum"), "what the verdict rests on");
  lines(at("evidence-list"), evidence, () => el("li", "t"), text);
  drawPlan(view.plan);
  for (const id of ["output", "plan", "hostfile", "nav"]) show(at(id), view.complete); // a worker has none
}

const HEADINGS = {
  exec: "The call", note: "Notes", write: "Files", set: "Variables that are set", keep: "Variables that stay here",
};

function drawPlan(plan) {
  const body = at("plan-body");
  const drawn = JSON.stringify(plan);
  if (body.drawn === drawn) return;
  body.drawn = drawn;
  if (!plan) {
    text(at("plan-sum"), "not made yet");
    body.replaceChildren();
    return;
  }
  text(at("plan-sum"), `how mpirun is called, and why: ${count(plan.argv.length, "word")}`);
  const parts = [pre([plan.argv.map(quoted).join(" ")], "The command line")];
  for (const [kind, steps] of grouped(plan.steps)) {
    const title = el("h3", "", HEADINGS[kind] || kind, el("span", "", String(steps.length)));
    parts.push(el("div", "group", title, el("ul", "notes", ...steps.map(drawStep))));
  }
  body.replaceChildren(...parts);
}

// The call comes first; the others as the plan has them.
function grouped(steps) {
  const groups = new Map([["exec", []]]);
  for (const step of steps) {
    if (!groups.has(step.kind)) groups.set(step.kind, []);
    groups.get(step.kind).push(step);
  }
  return [...groups].filter(([, them]) => them.length);
}

function drawStep({ kind, text: what, reason }) {
  const node = el("li", reason ? "" : "wide", el("span", kind === "note" ? "t" : "mono t", what));
  if (reason) node.append(el("span", "because t", reason));
  return node;
}
