"use strict";
// Reads a trace file: refuses what is foreign or damaged and says what is wrong, and turns columns into typed arrays.
// The format is docs/trace-format.md. What holds afterwards: every column of a table has the same length, every number that
// names a row or a string names one that exists, rows of spans are in order of their start, no span lies inside itself.
// src/check.rs asks the same of files that programs read; src/check/damage.json is tried on both.
class TraceError extends Error {}

const Trace = (() => {
  const VERSION = 1;
  const KINDS = ["s", "e", "k", "t", "c", "p", "w"];
  const KIND_NAMES = {
    s: "scope", e: "evaluation", k: "kernel", t: "copy", c: "compilation", p: "planning", w: "waiting",
  };
  const PARTS = [
    { key: "cpu_ns", name: "CPU kernels", colour: "cpu" },
    { key: "gpu_ns", name: "GPU kernels", colour: "gpu" },
    { key: "transfer_ns", name: "Copies", colour: "transfer" },
    { key: "compile_ns", name: "Compiling", colour: "compile" },
    { key: "overhead_ns", name: "Overhead", colour: "overhead" },
    { key: "rest_ns", name: "Your program", colour: "rest" },
  ];

  // Nanoseconds that a number counts exactly, which is a hundred days; amounts may be as large as programs count.
  const LATEST = Number.MAX_SAFE_INTEGER;
  const LARGEST = 2 ** 64;

  function fail(message) {
    throw new TraceError(message);
  }

  const describe = (value) => {
    if (value === undefined) return "missing";
    const text = JSON.stringify(value);
    return text.length > 40 ? `${text.slice(0, 40)}…` : text;
  };

  // What a file that is no text begins with.
  const BINARY = [
    ["\u001f\ufffd", "a file packed by gzip: unpack it first"], ["(\ufffd/\ufffd", "a file packed by zstd: unpack it first"],
    ["PK\u0003\u0004", "a zip archive: unpack it first"], ["\u007fELF", "a program"], ["\ufffdNUMPY", "an array of NumPy"], ["<!doctype html", "a page"],
  ];

  function json(text) {
    if (text.trim() === "") fail("The file is empty.");
    try {
      return JSON.parse(text);
    } catch (error) {
      const head = text.trimStart().slice(0, 16).toLowerCase();
      const known = BINARY.find(([start]) => head.startsWith(start.toLowerCase()));
      if (known) fail(`This is no trace but ${known[1]}.`);
      const end = text.trimEnd().slice(-1);
      if (text.trimStart()[0] === "{" && end !== "}") {
        fail(`The file is cut off: it begins like a trace and ends in the middle, after ${Format.count(text.length)} characters.`);
      }
      return fail(`This is not JSON: ${error.message}.`);
    }
  }

  function recognise(root) {
    if (root === null || typeof root !== "object" || Array.isArray(root)) {
      if (Array.isArray(root) && root.length > 0 && root[0] && root[0].ph) chrome();
      fail("This is JSON, but not a trace: a trace is an object with the member “format”.");
    }
    if (root.format === "crossover-trace") return;
    if (Array.isArray(root.traceEvents)) chrome();
    if (typeof root.$schema === "string" && root.$schema.includes("speedscope")) {
      fail("This is a speedscope profile. Open it at speedscope.app; this page reads Crossover’s own trace files.");
    }
    if (root.format === undefined) fail("This is JSON, but not a trace of Crossover: it has no member “format”.");
    fail(`This is a file of another format: “format” is ${describe(root.format)}, this page reads "crossover-trace".`);
  }

  function chrome() {
    fail("This is a Chrome trace. Open it in Perfetto (ui.perfetto.dev); this page reads Crossover’s own trace files.");
  }

  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const isWhole = (value, most) => Number.isInteger(value) && value >= 0 && value <= most;

  // A member that may be missing, but is of its kind where it is there.
  const TYPES = {
    text: [(value) => typeof value === "string", "a text"],
    number: [(value) => typeof value === "number" && Number.isFinite(value), "a number"],
    count: [(value) => isWhole(value, LARGEST), "a whole number that is not negative"],
    time: [(value) => isWhole(value, LATEST), `a number that is not negative, whole and at most ${LATEST}`],
    row: [Number.isInteger, "a whole number"],
    pair: [(value) => Array.isArray(value) && value.length === 2 && value.every(Number.isFinite), "two numbers"],
    object: [isObject, "an object"],
    list: [Array.isArray, "a list"],
  };

  function member(object, name, type, where = "", needed = false) {
    const value = object[name];
    const [holds, words] = TYPES[type];
    if (value === undefined && !needed) return value;
    if (!holds(value)) fail(`The trace is damaged: ${where}${name} should be ${words}, and is ${describe(value)}.`);
    return value;
  }

  function list(object, name, type, where = "") {
    const values = member(object, name, "list", where) ?? [];
    const [holds, words] = TYPES[type];
    const wrong = values.findIndex((value) => !holds(value));
    if (wrong >= 0) fail(`The trace is damaged: ${where}${name}[${wrong}] should be ${words}, and is ${describe(values[wrong])}.`);
    return values;
  }

  // One table: names of columns with what they hold. `limit` is the number of rows that a reference may name; −1 is none.
  function table(root, name, columns, needed) {
    const source = member(root, name, "object", "", needed);
    const result = { count: 0 };
    if (source === undefined) {
      for (const column of Object.keys(columns)) result[column] = [];
      return result;
    }
    let first = null;
    for (const [column, { type, limit, least = -1, missing }] of Object.entries(columns)) {
      // Files of earlier programs lack some columns.
      const isMissing = source[column] === undefined && missing !== undefined;
      const values = isMissing ? new Array(result.count).fill(missing) : source[column];
      if (!Array.isArray(values)) fail(`The trace is damaged: ${name}.${column} should be a list, and is ${describe(values)}.`);
      if (first === null) {
        first = column;
        result.count = values.length;
      } else if (values.length !== result.count) {
        fail(
          `The trace is damaged: ${name}.${column} has ${Format.plural(values.length, "entry", "entries")}, ` +
            `${name}.${first} has ${Format.count(result.count)}.`,
        );
      }
      result[column] = type === "list" ? values : isMissing ? Float64Array.from(values) : typed(`${name}.${column}`, values, type, limit, least);
    }
    return result;
  }

  function typed(where, values, type, limit, least) {
    const wrong = (row, why) => fail(`The trace is damaged: ${where}[${row}] is ${describe(values[row])}; ${why}.`);
    const result = type === "row" ? new Int32Array(values.length) : new Float64Array(values.length);
    const most = type === "time" ? LATEST : LARGEST;
    for (let row = 0; row < values.length; row += 1) {
      const value = values[row];
      if (typeof value !== "number") wrong(row, "it should be a number");
      if (type === "row") {
        if (!Number.isInteger(value) || value < least || value >= limit) wrong(row, `it should be between ${least} and ${limit - 1}`);
      } else if (!isWhole(value, most)) {
        wrong(row, value < 0 ? "it should not be negative" : `it should be whole and at most ${most}`);
      }
      result[row] = value;
    }
    return result;
  }

  function kinds(spans) {
    const codes = new Uint8Array(spans.count);
    const numbers = new Map(KINDS.map((kind, index) => [kind, index]));
    for (let row = 0; row < spans.count; row += 1) {
      const code = numbers.get(spans.kind[row]);
      if (code === undefined) fail(`The trace is damaged: spans.kind[${row}] is ${describe(spans.kind[row])}; known are ${KINDS.join(", ")}.`);
      codes[row] = code;
    }
    return codes;
  }

  function ordered(where, times) {
    for (let row = 1; row < times.length; row += 1) {
      if (times[row] < times[row - 1]) fail(`The trace is damaged: ${where}[${row}] is earlier than the row before it.`);
    }
  }

  // Nothing encloses itself.
  function nested({ count, parent }) {
    const [open, done] = [1, 2];
    const state = new Uint8Array(count);
    for (let first = 0; first < count; first += 1) {
      let at = first;
      for (; at >= 0 && state[at] === 0; at = parent[at]) state[at] = open;
      if (at >= 0 && state[at] === open) fail(`The trace is damaged: span ${at} lies inside itself.`);
      for (at = first; at >= 0 && state[at] === open; at = parent[at]) state[at] = done;
    }
  }

  function machine(root) {
    const found = member(root, "machine", "object") ?? {};
    member(found, "cpu", "text", "machine.");
    for (const name of ["threads", "memory"]) member(found, name, "count", "machine.");
    list(found, "devices", "object", "machine.").forEach((device, number) => {
      const where = `machine.devices[${number}].`;
      for (const name of ["name", "kind"]) member(device, name, "text", where, true);
      if (device.bandwidth !== null) member(device, "bandwidth", "number", where);
      list(device, "bandwidths", "pair", where);
      const flops = member(device, "flops", "object", where) ?? {};
      for (const dtype of Object.keys(flops)) member(flops, dtype, "number", `${where}flops.`);
    });
    return found;
  }

  function tracksOf(root, devices) {
    const tracks = list(root, "tracks", "object");
    tracks.forEach((track, number) => {
      const where = `tracks[${number}].`;
      member(track, "name", "text", where, true);
      if (!["thread", "stream"].includes(track.kind)) fail(`The trace is damaged: ${where}kind should be thread or stream, and is ${describe(track.kind)}.`);
      if (!isWhole(member(track, "device", "row", where, true), devices - 1)) fail(`The trace is damaged: ${where}device is ${track.device}; there are ${devices}.`);
    });
    return tracks;
  }

  function adviceOf(root) {
    const advice = list(root, "advice", "object");
    advice.forEach((one, number) => {
      for (const [name, type] of [["share", "number"], ["title", "text"], ["evidence", "text"], ["suggestion", "text"], ["kernel", "row"]]) {
        member(one, name, type, `advice[${number}].`, true);
      }
    });
    return advice;
  }

  function predictions(lists, name) {
    lists.forEach((times, launch) => {
      if (!Array.isArray(times)) fail(`The trace is damaged: launches.${name}[${launch}] should be a list, and is ${describe(times)}.`);
      const wrong = times.find((time) => !isWhole(time, LATEST));
      if (wrong !== undefined) fail(`The trace is damaged: launches.${name}[${launch}] should be ${TYPES.time[1]}, and has ${describe(wrong)}.`);
    });
  }

  // What files of earlier programs do not say: fused kernels are bound by their bytes, of calls nobody knows.
  function roofs({ form, roof }, strings) {
    const fused = ["map", "row", "column"];
    for (let row = 0; row < roof.length; row += 1) if (roof[row] < 0) roof[row] = fused.includes(strings[form[row]]) ? 1 : 0;
  }

  // Devices that share a name get their numbers, as src/distinct.rs gives them.
  function distinct(devices) {
    const counts = new Map();
    for (const { name } of devices) counts.set(name, (counts.get(name) ?? 0) + 1);
    return devices.map((device, number) =>
      counts.get(device.name) === 1 ? device : { ...device, name: `${device.name} (${device.kind}${number > 0 ? `:${number - 1}` : ""})` });
  }

  function parse(text) {
    const root = json(text);
    recognise(root);
    if (!Number.isInteger(root.version) || root.version < 0) fail(`The trace is damaged: “version” is ${describe(root.version)}.`);
    if (root.version > VERSION) {
      fail(`This trace has version ${root.version}; this page reads up to ${VERSION}. Make the report with the newer Crossover.`);
    }
    for (const name of ["name", "created", "crossover", "command"]) member(root, name, "text");
    member(root, "dropped", "count");
    const wall = member(root, "wall_ns", "time", "", true);
    const strings = list(root, "strings", "text");
    const host = machine(root);
    const devices = distinct(host.devices ?? []);
    const limit = Math.max(devices.length, 1);
    const tracks = tracksOf(root, limit);
    const text_ = { type: "row", limit: strings.length, least: 0 };
    const device = { type: "row", limit, least: 0 };
    const size = { type: "number" };
    const time = { type: "time" };
    const count = (name, column) => (Array.isArray(root[name]?.[column]) ? root[name][column].length : 0);
    const spans = table(root, "spans", {
      start: time, duration: time, track: { type: "row", limit: tracks.length, least: 0 }, kind: { type: "list" }, name: text_,
      parent: { type: "row", limit: count("spans", "start") }, kernel: { type: "row", limit: count("kernels", "name") },
      launch: { type: "row", limit: count("launches", "kernel") }, bytes: size, place: { ...text_, least: -1, missing: -1 },
    }, true);
    ordered("spans.start", spans.start);
    spans.kind = kinds(spans);
    spans.end = new Float64Array(spans.count);
    for (let row = 0; row < spans.count; row += 1) {
      spans.end[row] = spans.start[row] + spans.duration[row];
      if (spans.end[row] > LATEST) fail(`The trace is damaged: spans.start[${row}] is ${spans.start[row]} and spans.duration[${row}] ${spans.duration[row]}: it ends after ${LATEST}.`);
    }
    nested(spans);
    const breakdown = member(root, "breakdown", "object") ?? null;
    if (breakdown !== null) for (const part of PARTS) member(breakdown, part.key, "time", "breakdown.", true);
    const trace = {
      name: root.name ?? "unnamed", created: root.created, crossover: root.crossover, command: root.command,
      wall, dropped: root.dropped ?? 0, machine: host, devices, breakdown, strings, tracks, spans,
      kernels: table(root, "kernels", { name: text_, form: text_, text: text_, read: size, written: size, flops: size, dtype: text_,
        products: { ...size, missing: 0 }, roof: { type: "row", limit: 256, least: 0, missing: -1 } }),
      launches: table(root, "launches", {
        kernel: { type: "row", limit: count("kernels", "name"), least: 0 }, device, queued: time, reason: text_,
        predicted: { type: "list" }, moved: size, live: { ...size, missing: 0 }, peak: { ...size, missing: 0 },
        plan: { type: "row", limit: 2 ** 31, missing: -1 }, step: { type: "row", limit: 2 ** 31, least: 0, missing: 0 },
        moving: { type: "list", missing: [] },
      }),
      transfers: root.transfers === undefined ? null
        : table(root, "transfers", { span: { type: "row", limit: spans.count, least: 0 }, from: device, to: device }),
      memory: table(root, "memory", { time, device, live: size, cached: size, others: size, budget: size, level: { type: "row", limit: 256, least: 0 } }),
      events: table(root, "events", { time, kind: text_, text: text_ }),
      advice: adviceOf(root),
    };
    predictions(trace.launches.predicted, "predicted");
    predictions(trace.launches.moving, "moving");
    roofs(trace.kernels, strings);
    ordered("memory.time", trace.memory.time);
    spans.estimated = new Uint8Array(spans.count);
    const estimated = typed("estimated", member(root, "estimated", "list") ?? [], "row", spans.count, 0);
    for (const row of estimated) spans.estimated[row] = 1;
    trace.estimates = estimated.length;
    return trace;
  }

  const string = (trace, number) => (number < 0 ? "" : String(trace.strings[number]));
  // The line of the program that asked for a span, or for what asked for it; long chains end.
  function line(trace, row) {
    const { place, parent } = trace.spans;
    for (let at = row, left = 1000; at >= 0 && left > 0; at = parent[at], left -= 1) if (place[at] >= 0) return string(trace, place[at]);
    return null;
  }
  const isHost = (trace, device) => device <= 0 || trace.devices[device]?.kind === "cpu";
  const device = (trace, number) => trace.devices[number]?.name ?? `device ${number}`;

  // The colour of what runs on a device.
  const side = (trace, number) => (isHost(trace, number) ? "cpu" : "gpu");

  // A short name for where something ran, beside a swatch.
  function place(trace, number) {
    if (isHost(trace, number)) return "CPU";
    const kind = trace.devices[number]?.kind;
    return kind === undefined || kind === "cuda" ? "GPU" : String(kind);
  }

  // The colour of a span by what it is and where it ran.
  const COLOURS = ["scope", "evaluation", "gpu", "transfer", "compile", "overhead", "waiting"];
  function colour(trace, row) {
    const kind = trace.spans.kind[row];
    if (kind !== 2) return COLOURS[kind];
    return side(trace, trace.tracks[trace.spans.track[row]].device ?? 0);
  }

  return { parse, string, line, isHost, device, place, side, colour, KINDS, KIND_NAMES, PARTS, KERNEL: 2, COPY: 3, COMPILE: 4 };
})();
