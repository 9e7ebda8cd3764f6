"use strict";
// The first look: how long, on what, and where the time went, as one bar that adds up to the wall time.
const Summary = (() => {
  const { h } = Dom;

  // Parts with their time and share; null without a breakdown.
  function parts(trace) {
    if (!trace.breakdown) return null;
    return Trace.PARTS.map((part) => ({ ...part, ns: trace.breakdown[part.key], share: trace.wall > 0 ? trace.breakdown[part.key] / trace.wall : 0 }));
  }

  // What a bar is as long as: parts of a damaged file may be more than the whole.
  function whole(trace) {
    return Math.max(trace.wall, (parts(trace) ?? []).reduce((sum, part) => sum + part.ns, 0), 1);
  }

  // `full` is the time that fills the bar: two runs are drawn to one scale.
  function bar(trace, full, label) {
    const shown = parts(trace).filter((part) => part.ns > 0);
    const segments = shown.map((part) =>
      h("div", { class: "segment", style: `width: ${(part.ns / full) * 100}%; --part: var(--${part.colour}); --on: var(--on-${part.colour})`,
        title: `${part.name}: ${Format.time(part.ns)}, ${Format.percent(part.share)}` },
        h("span", {}, part.name), h("span", { class: "figure" }, Format.percent(part.share))));
    const words = shown.map((part) => `${part.name} ${Format.percent(part.share)}`).join(", ");
    return h("div", { class: "stack", role: "img", "aria-label": `${label}: ${words}` }, segments);
  }

  function legend(trace) {
    const rows = parts(trace);
    const sum = rows.reduce((total, part) => total + part.ns, 0);
    const left = trace.wall - sum;
    return h("table", { class: "legend" },
      h("caption", { class: "sr-only" }, "Where the wall time went"),
      h("tbody", {}, rows.map((part) =>
        h("tr", { class: part.ns === 0 ? "none" : null },
          h("th", { scope: "row" }, Dom.swatch(part.colour), part.name),
          h("td", { class: "numeric" }, Format.time(part.ns)),
          h("td", { class: "numeric" }, Format.percent(part.share))))),
      h("tfoot", {},
        Math.abs(left) > 0.5 ? h("tr", { class: "residue" },
          h("th", { scope: "row" }, "Not accounted for"), h("td", { class: "numeric" }, Format.difference(left)), h("td", { class: "numeric" }, Format.percent(left / trace.wall))) : null,
        h("tr", {}, h("th", { scope: "row" }, "Wall time"), h("td", { class: "numeric" }, Format.time(trace.wall)), h("td", { class: "numeric" }, Format.percent(1)))));
  }

  function machine(trace) {
    const { cpu, threads, memory } = trace.machine;
    const lines = [];
    if (cpu) lines.push(["Processor", threads ? `${cpu}, ${Format.plural(threads, "thread")}` : cpu]);
    for (const device of trace.devices.filter((one) => one.kind !== "cpu")) lines.push(["Device", device.name]);
    if (trace.devices.length > 0 && trace.devices.every((one) => one.kind === "cpu")) lines.push(["Device", "the CPU only"]);
    if (memory > 0) lines.push(["Memory", Format.bytes(memory)]);
    if (trace.command) lines.push(["Command", h("code", {}, trace.command)]);
    if (trace.created) lines.push(["Recorded", Format.date(trace.created)]);
    if (trace.crossover) lines.push(["Crossover", trace.crossover]);
    return h("dl", { class: "facts" }, lines.map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
  }

  function render(trace, host) {
    const { spans, launches, kernels } = trace;
    const figures = [
      [Format.count(spans.count), spans.count === 1 ? "span" : "spans"],
      [Format.count(launches.count), launches.count === 1 ? "launch" : "launches"],
      [Format.count(kernels.count), kernels.count === 1 ? "kernel" : "kernels"],
      [Format.count(trace.tracks.length), trace.tracks.length === 1 ? "track" : "tracks"],
    ];
    host.replaceChildren(
      h("div", { class: "hero" },
        h("div", {}, h("h1", { id: "title", title: trace.name.length > 200 ? Format.cut(trace.name, 2000) : null }, Format.cut(trace.name, 200)),
          h("p", { class: "figures" }, figures.map(([figure, name]) => h("span", {}, h("b", {}, figure), ` ${name}`)))),
        h("p", { class: "wall" }, h("span", { class: "wall-figure" }, Format.time(trace.wall)), h("span", { class: "wall-name" }, "wall time"))),
      trace.dropped > 0 ? h("p", { class: "warning", role: "note" },
        `${Format.plural(trace.dropped, "span")} found no room in the recorder, or no device can tell when ${trace.dropped === 1 ? "it was, and is" : "they were, and are"} missing here.`) : "",
      trace.estimates > 0 ? h("p", { class: "muted estimates" },
        `${Format.plural(trace.estimates, "span")} of short, repeated device work ${trace.estimates === 1 ? "was" : "were"} not timed: ` +
          "others of the same kind that were timed say how long and in which order. The timeline hatches them.") : "",
      trace.breakdown ? bar(trace, whole(trace), "Breakdown of the wall time") : Dom.empty("No breakdown", "The trace has no member “breakdown”, so the wall time cannot be divided."),
      h("div", { class: "summary-columns" }, trace.breakdown ? legend(trace) : "", machine(trace), h("div", { id: "advice-top" })));
  }

  return { render, bar, parts, whole };
})();
