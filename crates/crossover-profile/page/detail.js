"use strict";
// What is known of the selected span, or of the marked range, under the timeline.
const Detail = (() => {
  const { h } = Dom;
  const facts = (lines) => h("dl", { class: "facts" }, lines.filter(Boolean).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));

  // The lines of a tooltip: the same facts, fewer.
  function lines(trace, row) {
    const { spans, launches, kernels } = trace;
    const result = [
      ["took", Format.time(spans.duration[row])],
      ["starts at", Format.time(spans.start[row])],
    ];
    if (spans.estimated[row]) result.push(["timed", "no, placed like others of its kind"]);
    const kernel = spans.kernel[row];
    if (spans.bytes[row] > 0 && kernel < 0) {
      result.push(["moves", Format.bytes(spans.bytes[row])]);
      if (spans.duration[row] > 0) result.push(["at", Format.rate((spans.bytes[row] / spans.duration[row]) * 1e9)]);
    }
    if (kernel >= 0 && spans.duration[row] > 0) {
      // Those of this launch where they are known; the kernel has the mean.
      const bytes = spans.bytes[row] > 0 ? spans.bytes[row] : kernels.read[kernel] + kernels.written[kernel];
      if (bytes > 0) result.push(["memory", Format.rate((bytes / spans.duration[row]) * 1e9)]);
      if (kernels.flops[kernel] > 0) result.push(["arithmetic", Format.flops((kernels.flops[kernel] / spans.duration[row]) * 1e9)]);
    }
    const launch = spans.launch[row];
    if (launch >= 0) result.push(["queued for", Format.time(Math.max(0, spans.start[row] - launches.queued[launch]))]);
    return result;
  }

  function prediction(trace, row) {
    const launch = trace.spans.launch[row];
    const predicted = launch >= 0 ? trace.launches.predicted[launch] : [];
    if (!Array.isArray(predicted) || predicted.length === 0) return null;
    return ["Predicted", predicted.map((ns, device) => `${Trace.device(trace, device)} ${ns > 0 ? Format.time(ns) : "–"}`).join(" · ")];
  }

  function span(timeline, row, showKernel) {
    const { trace } = timeline;
    const { spans, kernels, launches } = trace;
    const parent = spans.parent[row];
    const kernel = spans.kernel[row];
    const launch = spans.launch[row];
    const path = Stats.path(trace, row);
    const track = trace.tracks[spans.track[row]];
    return [
      h("div", { class: "detail-head" },
        Dom.swatch(Trace.colour(trace, row)), h("h3", {}, Trace.string(trace, spans.name[row])),
        h("span", { class: "muted" }, Trace.KIND_NAMES[Trace.KINDS[spans.kind[row]]]),
        h("span", { class: "detail-actions" },
          h("button", { type: "button", class: "quiet", onclick: () => timeline.fitSpan(row) }, "Zoom to it"),
          parent >= 0 ? h("button", { type: "button", class: "quiet", onclick: () => timeline.select(parent, { reveal: true }) }, "Enclosing span") : "",
          kernel >= 0 ? h("button", { type: "button", class: "quiet", onclick: () => showKernel(kernel) }, "Its kernel") : "")),
      kernel >= 0 && kernels.text[kernel] !== spans.name[row] ? h("p", {}, h("code", {}, Trace.string(trace, kernels.text[kernel]))) : "",
      facts([
        ["Track", String(track.name ?? spans.track[row])],
        ...lines(trace, row).map(([name, value]) => [name[0].toUpperCase() + name.slice(1), value]),
        Trace.line(trace, row) !== null ? ["Asked for at", Trace.line(trace, row)] : null,
        launch >= 0 && launches.live[launch] > 0
          ? ["Arrays on its device", `${Format.bytes(launches.live[launch])}, at most ${Format.bytes(launches.peak[launch])} until then`] : null,
        path.length > 0 ? ["Scope", path.map((name) => Format.cut(name, 60)).join(" › ")] : null,
        launch >= 0 && launches.reason[launch] >= 0 ? ["Placed here", Trace.string(trace, launches.reason[launch])] : null,
        prediction(trace, row),
        launch >= 0 && launches.moved[launch] > 0 ? ["Copied for it", Format.bytes(launches.moved[launch])] : null,
      ]),
    ];
  }

  function range(timeline, { from, to }) {
    const { spans } = timeline.trace;
    let count = 0;
    for (let row = 0; row < spans.count; row += 1) if (spans.start[row] < to && spans.end[row] > from) count += 1;
    const names = { cpu: "CPU kernels", gpu: "GPU kernels", transfer: "Copies", compile: "Compiling" };
    return [
      h("div", { class: "detail-head" }, h("h3", {}, `${Format.time(to - from)} marked`),
        h("span", { class: "muted" }, `from ${Format.time(from)}, ${Format.plural(count, "span")}`),
        h("span", { class: "detail-actions" }, h("button", { type: "button", class: "quiet", onclick: () => timeline.show(from, to) }, "Zoom to it"))),
      facts(timeline.activity.map(({ colour, set }) => {
        const busy = Intervals.covered(set, from, to);
        return [[Dom.swatch(colour), names[colour]], `${Format.time(busy)}, ${Format.percent(busy / (to - from))}`];
      })),
    ];
  }

  // One sentence for screen readers.
  function sentence(trace, row) {
    const { spans } = trace;
    return `${Trace.string(trace, spans.name[row])}, ${Trace.KIND_NAMES[Trace.KINDS[spans.kind[row]]]}, ${Format.time(spans.duration[row])}, ` +
      `at ${Format.time(spans.start[row])} on ${trace.tracks[spans.track[row]].name}`;
  }

  return { lines, span, range, sentence };
})();
