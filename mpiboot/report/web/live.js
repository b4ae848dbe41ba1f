// The stream of documents, and what is drawn when.

const QUIET_MS = 15000; // a document comes every 5 s at least: after three the line is dead
const RETRY_MS = [500, 1000, 2000, 4000, 8000];
let latest = null; // the last document
let skew_ms = 0; // this clock minus the launcher's
let heard = 0; // when a document last came
let tries = 0;
let ended = false;
let pending = false;
let source = null;
let timer = null;

const now = () => Date.now() - skew_ms;

function connect() {
  clearTimeout(timer);
  if (source) source.close();
  source = new EventSource("events");
  heard = Date.now();
  source.addEventListener("view", (event) => take(JSON.parse(event.data)));
  source.addEventListener("end", over);
  source.onerror = again;
}

function over() {
  ended = true;
  source.close();
  drawLink();
}

function again() {
  if (ended) return;
  source.close();
  clearTimeout(timer);
  if (latest && latest.status.outcome) return over(); // it had nothing more to say
  timer = setTimeout(connect, RETRY_MS[Math.min(tries, RETRY_MS.length - 1)]);
  tries += 1;
  drawLink();
}

function take(view) {
  heard = Date.now();
  tries = 0;
  skew_ms = Date.now() - Date.parse(view.at);
  latest = view;
  drawLink();
  redraw();
}

// However many documents come, one frame draws the last of them.
function redraw() {
  if (pending || !latest) return;
  pending = true;
  requestAnimationFrame(() => {
    pending = false;
    draw(latest);
  });
}

function draw(view) {
  const began = performance.now();
  const stage = view.status.stage;
  const workers = view.workers.map((one, place) => ({ ...one, place, kind: kindOf(one, stage), over: Boolean(view.status.outcome) }));
  const time = now();
  drawNow(view, workers);
  drawSince(view, time);
  drawSums(view, workers);
  drawFailures(view.status.outcome);
  drawMissing(view, workers);
  drawTimeline(view, time);
  drawWorkers(view, workers);
  drawTexts(view);
  said(at("alone"), view.complete ? "" : `No launcher holds ${view.from} now: only what this worker knows of itself is shown.`);
  document.documentElement.dataset.drawnMs = (performance.now() - began).toFixed(1);
}

function drawLink() {
  const lost = tries > 0;
  const [tone, words] = ended ? ["calm", "Ended"] : lost ? ["bad", "Connection lost"] : latest ? ["good", "Live"] : ["calm", "Connecting"];
  look(at("link"), `link ${tone}`);
  text(at("link"), words);
  const from = latest ? `What is shown is of ${clock(Date.parse(latest.at), now())}. ` : "";
  said(at("lost"), lost && !ended ? `Connection lost. ${from}Trying again.` : "");
}

setInterval(() => {
  if (!ended && tries === 0 && Date.now() - heard > QUIET_MS) again();
  if (latest && tries === 0 && !ended && !document.hidden) {
    drawSince(latest, now());
    drawTimeline(latest, now());
  }
}, 1000);

connect();
