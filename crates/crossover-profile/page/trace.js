"use strict";
// Reads a trace file: refuses what is foreign or damaged and says what is wrong, and turns columns into typed arrays.
// The format is docs/trace-format.md. What holds afterwards: every column of a table has the same length, every number that
// names a row or a string names one that exists, rows of spans are in order of their start.
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

  function fail(message) {
    throw new TraceError(message);
  }

  const describe = (value) => {
    if (value === undefined) return "missing";
    const text = JSON.stringify(value);
    return text.length > 40 ? `${text.slice(0, 40)}…` : text;
  };

  function json(text) {
    if (text.trim() === "") fail("The file is empty.");
    try {
      return JSON.parse(text);
    } catch (error) {
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

  function number(object, name, where) {
    const value = object[name];
    if (typeof value !== "number" || !Number.isFinite(value) || value < 0) {
      fail(`The trace is damaged: ${where}${name} should be a number that is not negative, and is ${describe(value)}.`);
    }
    return value;
  }

  // One table: names of columns with what they hold. `limit` is the number of rows that a reference may name; −1 is none.
  function table(root, name, columns, needed) {
    const source = root[name];
    const result = { count: 0 };
    if (source === undefined && !needed) {
      for (const column of Object.keys(columns)) result[column] = [];
      return result;
    }
    if (source === null || typeof source !== "object") fail(`The trace is damaged: the table “${name}” is ${describe(source)}.`);
    let first = null;
    for (const [column, { type, limit, least = -1, missing }] of Object.entries(columns)) {
      // Files of earlier programs lack some columns.
      const values = source[column] ?? (missing === undefined ? undefined : new Array(result.count).fill(missing));
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
      result[column] = type === "list" ? values : typed(`${name}.${column}`, values, type, limit, least);
    }
    return result;
  }

  function typed(where, values, type, limit, least) {
    const wrong = (row, why) => fail(`The trace is damaged: ${where}[${row}] is ${describe(values[row])}; ${why}.`);
    const result = type === "row" ? new Int32Array(values.length) : new Float64Array(values.length);
    for (let row = 0; row < values.length; row += 1) {
      const value = values[row];
      if (typeof value !== "number") wrong(row, "it should be a number");
      if (type === "row") {
        if (!Number.isInteger(value) || value < least || value >= limit) wrong(row, `it should be between ${least} and ${limit - 1}`);
      } else if (!(value >= 0)) {
        wrong(row, "it should not be negative");
      }
      result[row] = value;
    }
    return result;
  }

  function list(root, name) {
    const value = root[name] ?? [];
    if (!Array.isArray(value)) fail(`The trace is damaged: “${name}” should be a list, and is ${describe(value)}.`);
    return value;
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

  function parse(text) {
    const root = json(text);
    recognise(root);
    if (typeof root.version !== "number") fail(`The trace is damaged: “version” is ${describe(root.version)}.`);
    if (root.version > VERSION) {
      fail(`This trace has version ${root.version}; this page reads up to ${VERSION}. Make the report with the newer Crossover.`);
    }
    const strings = list(root, "strings");
    const tracks = list(root, "tracks");
    const machine = root.machine ?? {};
    const devices = list(machine, "devices");
    const text_ = { type: "row", limit: strings.length };
    const device = { type: "row", limit: Math.max(devices.length, 1), least: 0 };
    const size = { type: "number" };
    const count = (name, column) => (Array.isArray(root[name]?.[column]) ? root[name][column].length : 0);
    const spans = table(root, "spans", {
      start: size, duration: size, track: { type: "row", limit: tracks.length, least: 0 }, kind: { type: "list" }, name: text_,
      parent: { type: "row", limit: count("spans", "start") }, kernel: { type: "row", limit: count("kernels", "name") },
      launch: { type: "row", limit: count("launches", "kernel") }, bytes: size, place: { ...text_, missing: -1 },
    }, true);
    ordered("spans.start", spans.start);
    spans.kind = kinds(spans);
    spans.end = new Float64Array(spans.count);
    for (let row = 0; row < spans.count; row += 1) spans.end[row] = spans.start[row] + spans.duration[row];
    const wall = number(root, "wall_ns", "");
    const breakdown = root.breakdown ?? null;
    if (breakdown !== null) for (const part of PARTS) number(breakdown, part.key, "breakdown.");
    const trace = {
      name: String(root.name ?? "unnamed"), created: root.created, crossover: root.crossover, command: root.command,
      wall, dropped: root.dropped ?? 0, machine, devices, breakdown, strings, tracks, spans,
      kernels: table(root, "kernels", { name: text_, form: text_, text: text_, read: size, written: size, flops: size, dtype: text_ }),
      launches: table(root, "launches", {
        kernel: { type: "row", limit: count("kernels", "name"), least: 0 }, device, queued: size, reason: text_,
        predicted: { type: "list" }, moved: size, live: { ...size, missing: 0 }, peak: { ...size, missing: 0 },
      }),
      transfers: root.transfers === undefined ? null
        : table(root, "transfers", { span: { type: "row", limit: spans.count, least: 0 }, from: device, to: device }),
      memory: table(root, "memory", { time: size, device, live: size, cached: size, others: size, budget: size, level: size }),
      events: table(root, "events", { time: size, kind: text_, text: text_ }),
      advice: list(root, "advice"),
    };
    ordered("memory.time", trace.memory.time);
    spans.estimated = new Uint8Array(spans.count);
    const estimated = typed("estimated", list(root, "estimated"), "row", spans.count, 0);
    for (const row of estimated) spans.estimated[row] = 1;
    trace.estimates = estimated.length;
    return trace;
  }

  const string = (trace, number) => (number < 0 ? "" : String(trace.strings[number]));
  // The line of the program that asked for a span, or for what asked for it; a damaged file's chains end.
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
