// Values into words. Pure: no node is touched here. ASCII alone, which every font has.

const MANY = 48; // workers from which cells are easier to read than tiles

function seconds(value) {
  if (value < 10) return `${Math.max(0, value).toFixed(1)} s`;
  const whole = Math.floor(value);
  if (whole < 60) return `${whole} s`;
  const [days, hours] = [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24];
  const [minutes, rest] = [Math.floor(whole / 60) % 60, whole % 60];
  if (days) return `${days} d ${hours} h`;
  if (hours) return `${hours} h ${minutes} min`;
  return rest ? `${minutes} min ${rest} s` : `${minutes} min`;
}

// What is counted while one looks on: whole seconds.
function ticks(value) {
  return value < 10 ? `${Math.max(0, Math.floor(value))} s` : seconds(value);
}

function bytes(value, unit = "") {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let step = unit ? units.indexOf(unit) : 0;
  let scaled = value / 1024 ** step;
  while (!unit && scaled >= 1000 && step < units.length - 1) {
    scaled /= 1024;
    step += 1;
  }
  const digits = step === 0 || scaled >= 100 ? 0 : 1;
  return { number: scaled.toFixed(digits), unit: units[step] };
}

function size(value) {
  const { number, unit } = bytes(value);
  return `${number} ${unit}`;
}

function clock(instant, now) {
  const two = (number) => String(number).padStart(2, "0");
  const date = new Date(instant);
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  if (date.toDateString() === new Date(now).toDateString()) return time;
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${time}`;
}

function count(number, one, several = `${one}s`) {
  return `${number} ${number === 1 ? one : several}`;
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// 0,1,2,3,7 -> "0-3, 7"; of many that are no neighbours the first, the last and their number.
function ranges(numbers) {
  const runs = [];
  for (const number of numbers) {
    const last = runs[runs.length - 1];
    if (last && number === last[1] + 1) last[1] = number;
    else runs.push([number, number]);
  }
  const words = runs.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`));
  if (words.length <= 6) return words.join(", ");
  return `${words.slice(0, 3).join(", ")}, ... ${words[words.length - 1]} (${numbers.length})`;
}

const SIGNALS = {
  1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
  9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM",
  15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ", 31: "SIGSYS",
};

function ending(one) {
  if (one.signal) return SIGNALS[one.signal] || `signal ${one.signal}`;
  return one.code === null || one.code === undefined ? "" : String(one.code);
}

// Whose turn it is, by the outcome's `fault`.
const FAULTS = {
  none: "",
  user: "the job's own program failed",
  configuration: "the configuration has to change; the same start would fail again",
  infrastructure: "the platform failed the job; it may be tried again",
  deadline: "its time was over",
  signal: "it was stopped from outside",
  internal: "a fault of mpiboot, please report it",
};

// What a worker's state is to whoever looks: a label, a tone, a sign, a mark in a cell.
const KINDS = {
  failed: { label: "Failed", tone: "bad", sign: "i-bad", mark: "x", group: "trouble", rank: 0 },
  lost: { label: "Lost", tone: "bad", sign: "i-lost", mark: "!", group: "trouble", rank: 0 },
  refused: { label: "Refused", tone: "bad", sign: "i-bad", mark: "x", group: "trouble", rank: 1 },
  silent: { label: "Silent", tone: "odd", sign: "i-silent", mark: "?", group: "trouble", rank: 1 },
  waiting: { label: "Missing", tone: "wait", sign: "i-wait", mark: "", group: "missing", rank: 2 },
  ready: { label: "Ready", tone: "calm", sign: "i-ready", mark: "", group: "ready", rank: 3 },
  running: { label: "Running", tone: "run", sign: "i-run", mark: "", group: "running", rank: 3 },
  done: { label: "Done", tone: "good", sign: "i-done", mark: "", group: "done", rank: 3 },
};
const TIMED = new Set(["waiting", "refused", "lost", "silent"]);  // since_s tells how long
const HOPELESS = new Set(["key refused", "wrong host key", "login broken", "rsh agent failed"]);

function kindOf(worker, stage) {
  if (worker.phase === "Unknown") return "silent";
  if (worker.lease === "lost") return "lost";
  if (worker.phase === "Failed" || worker.ranks.some((one) => one.state === "failed")) return "failed";
  if (worker.phase === "Succeeded") return "done";
  if (!worker.ready) return HOPELESS.has(worker.state) ? "refused" : "waiting";
  return stage === "running" || stage === "ending" ? "running" : "ready";
}

// Why it is not as it should be; empty where all is well.
function reasonOf(worker, kind) {
  if (kind === "waiting" || kind === "refused") {
    return [worker.state, worker.detail === worker.name ? "" : worker.detail].filter(Boolean).join(": ");
  }
  return worker.reason || "";
}

function share(part, whole) {
  return whole ? Math.min(1, Math.max(0, part / whole)) : 0;
}

// 0 to 1 of what the cells are shaded by; null where it is not known.
const SHADES = {
  cpu: (worker) =>
    worker.cpu_percent === null || !worker.cpus ? null : share(worker.cpu_percent, worker.cpus * 100),
  memory: (worker) =>
    worker.memory_bytes === null || !worker.memory_limit_bytes
      ? null
      : share(worker.memory_bytes, worker.memory_limit_bytes),
  gpu: (worker) =>
    worker.gpus.length ? sum(worker.gpus, (one) => one.busy_percent || 0) / worker.gpus.length / 100 : null,
  beat: (worker) => (worker.heartbeat_age_s === null ? null : share(worker.heartbeat_age_s, 20)),
};
const SHADE_STEPS = {
  cpu: ["0 %", "20 %", "40 %", "60 %", "80 % of its CPUs busy"],
  memory: ["0 %", "20 %", "40 %", "60 %", "80 % of its limit used"],
  gpu: ["0 %", "20 %", "40 %", "60 %", "80 % busy"],
  beat: ["0 s", "4 s", "8 s", "12 s", "16 s since its heartbeat"],
};

function sum(list, value) {
  return list.reduce((total, one) => total + value(one), 0);
}

function matches(worker, words) {
  if (!words) return true;
  const number = /^(?:rank *)?(\d+)$/.exec(words);
  if (number && worker.ranks.some((one) => one.rank === Number(number[1]))) return true;
  if (/^rank *\d+$/.test(words)) return false;
  return [worker.name, worker.host, worker.state, worker.reason, worker.detail].some(
    (text) => text && text.toLowerCase().includes(words),
  );
}
