// One worker as a tile.

function makeTile() {
  const title = el("header", "", sign(), el("h3", "t"), el("span", "state"));
  const tile = el(
    "li", "tile", title, el("p", "why t"), el("p", "about"), el("div", "meters"), el("div", "ranks"),
  );
  return tile;
}

function fillTile(tile, worker) {
  const { label, tone, sign: icon } = KINDS[worker.kind];
  const [title, why, about, meters, ranks] = tile.children;
  look(tile, `tile ${tone}`);
  attr(title.children[0].firstChild, "href", `#${icon}`);
  text(title.children[1], worker.name);
  attr(title.children[1], "title", worker.name);
  text(title.children[2], label);
  said(why, reasonOf(worker, worker.kind));
  lines(about, aboutOf(worker), () => el("span", "t"), text);
  follow(meters, worker.over || worker.lease === "lost" ? [] : metersOf(worker), (one) => one.key, makeMeter, fillMeter);
  lines(ranks, ranksOf(worker), () => el("span"), (node, one) => {
    text(node, one.words);
    look(node, one.look);
  });
}

function aboutOf(worker) {
  const words = [];
  if (worker.host && worker.host !== worker.name) words.push(worker.host);
  if (worker.slots !== null) words.push(count(worker.slots, "slot"));
  if (worker.over) return words;
  if (worker.heartbeat_age_s !== null) words.push(`heartbeat ${seconds(worker.heartbeat_age_s)} ago`);
  else if (worker.lease === "plain") words.push("plain sshd, no heartbeat");
  if (TIMED.has(worker.kind)) words.push(`for ${ticks(worker.since_s || 0)}`);
  return words;
}

function metersOf(worker) {
  const meters = [];
  if (worker.cpu_percent !== null) {
    const of = worker.cpus ? ` of ${Number(worker.cpus.toFixed(1))}` : "";
    const busy = (worker.cpu_percent / 100).toFixed(1);
    meters.push({ key: "cpu", label: "CPU", value: busy, of, part: SHADES.cpu(worker) });
  }
  if (worker.memory_bytes !== null) {
    const limit = worker.memory_limit_bytes;
    const whole = bytes(limit || worker.memory_bytes);
    const used = limit ? bytes(worker.memory_bytes, whole.unit).number : `${whole.number} ${whole.unit}`;
    const of = limit ? ` of ${whole.number} ${whole.unit}` : "";
    meters.push({ key: "memory", label: "Memory", value: used, of, part: SHADES.memory(worker) });
  }
  for (const gpu of worker.gpus) {
    const memory = gpu.memory_total_bytes ? `, ${size(gpu.memory_bytes || 0)}` : "";
    const value = gpu.busy_percent === null ? "?" : `${Math.round(gpu.busy_percent)} %`;
    const part = share(gpu.busy_percent || 0, 100);
    meters.push({ key: `gpu${gpu.index}`, label: `GPU ${gpu.index}`, name: gpu.name, value, of: memory, part });
  }
  return meters;
}

function makeMeter() {
  const node = el("div", "meter", el("span", "label"), el("span", "track", el("i")), el("span", "value", el("span"), el("small")));
  return node;
}

function fillMeter(node, meter) {
  const [label, track, value] = node.children;
  text(label, meter.label);
  attr(label, "title", meter.name || null);
  wide(track.firstChild, meter.part || 0);
  look(track, meter.part === null ? "track unknown" : "track");
  text(value.firstChild, meter.value);
  text(value.lastChild, meter.of);
}

// Failed ranks one by one; the others in runs, so that 128 of them are one word.
function ranksOf(worker) {
  const by = (state) => worker.ranks.filter((one) => one.state === state);
  const failed = by("failed").map((one) => ({ words: `rank ${one.rank}: ${one.signal ? "" : "exit "}${ending(one) || "failed"}`, look: "bad" }));
  const many = failed.length > 8 ? [{ words: `and ${failed.length - 8} more failed`, look: "bad" }] : [];
  const [running, ended] = [by("running"), by("ended")];
  const run = (list) => `${list.length === 1 ? "rank" : "ranks"} ${ranges(list.map((one) => one.rank))}`;
  return [
    ...failed.slice(0, 8), ...many,
    ...(running.length ? [{ words: run(running), look: "" }] : []),
    ...(ended.length ? [{ words: `${run(ended)} ended`, look: "over" }] : []),
  ];
}
