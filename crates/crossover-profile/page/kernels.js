"use strict";
// The kernels: a table of their figures beside the roofline plot; what is chosen in one is marked in the other.
const Kernels = (() => {
  const { h } = Dom;

  function columns(trace, rows) {
    const heaviest = Stats.most(rows.map((row) => row.share ?? 0));
    const figure = (key, label, title, show) => ({ key, label, title, numeric: true, value: (row) => row[key], cell: (row) => show(row[key]) });
    const several = trace.devices.length > 1;
    return [
      { key: "name", label: "Kernel", value: (row) => row.name, cell: (row) => row.name, wide: true },
      several ? { key: "device", label: "Device", value: (row) => Trace.device(trace, row.device),
        cell: (row) => [Dom.swatch(Trace.side(trace, row.device)), Trace.place(trace, row.device)] } : null,
      { key: "text", label: "Computes", title: "What it computes; x0, x1 are its operands, c0 numbers of the program", value: (row) => row.text, cell: (row) => (row.text === row.name ? "–" : h("span", { title: Format.cut(row.text, 2000) }, Format.cut(row.text, 60))), wide: true },
      { key: "plan", label: "Plan", title: "Number of the plan, and which of its kernels it is", value: (row) => row.plans[0]?.[0] ?? null, cell: (row) => plans(row, 1) },
      { key: "form", label: "Form", title: "map, row, column, call or custom", value: (row) => row.form, cell: (row) => row.form },
      { key: "dtype", label: "Type", value: (row) => row.dtype, cell: (row) => row.dtype },
      figure("count", "Launches", "How often it ran", Format.count),
      { key: "total", label: "Total", title: "All launches together; the bar compares with the heaviest", numeric: true, value: (row) => row.total,
        cell: (row) => Table.bar(heaviest > 0 ? row.share / heaviest : 0, Format.time(row.total), Trace.side(trace, row.device)) },
      figure("share", "of wall", "Share of the wall time; kernels may overlap", Format.percent),
      figure("mean", "Mean", "Mean time of a launch", Format.time),
      { key: "spread", label: "Spread", title: "Half the distance between the 10th and the 90th percentile, against the median", numeric: true,
        value: (row) => row.spread, cell: (row) => (row.spread === null ? "–" : `±${Format.percent(row.spread)}`) },
      figure("bytes", "Bytes", "Read and written by a launch, on average", Format.bytes),
      figure("live", "Live", "Most that arrays held on its device at a launch, its results included", Format.bytes),
      figure("rate", "Bandwidth", "Bytes by the mean time", Format.rate),
      figure("flopRate", "Arithmetic", "Operations by the mean time", Format.flops),
      { key: "roof", label: "of roof", title: "The least time that the measured roofs of the device allow, against the mean", numeric: true,
        value: (row) => row.roof, cell: (row) => (row.roof === null ? "–" : Table.bar(row.roof, Format.percent(row.roof), "roof")) },
    ].filter(Boolean);
  }

  // The plans of a kernel, a few by name: "2.1" is the second kernel of plan 2.
  function plans(row, most) {
    if (row.plans.length === 0) return "–";
    const named = row.plans.slice(0, most).map(([plan, step]) => `${plan}.${step}`);
    const left = row.plans.length - named.length;
    return left > 0 ? `${named.join(", ")} +${left}` : named.join(", ");
  }

  function render(trace, host, showInTimeline) {
    const rows = Stats.kernels(trace).map((row) => ({ ...row, words: `${row.name} ${row.form} ${row.dtype} ${row.text} ${Trace.device(trace, row.device)}`.toLowerCase() }));
    if (rows.length === 0) {
      host.replaceChildren(Dom.empty("No kernels", "No kernel ran while the session was open, or kernels were not recorded."));
      return null;
    }
    const chosen = h("div", { class: "detail kernel-detail", "aria-live": "polite" }, h("p", { class: "muted" }, "Choose a kernel in the table or in the plot."));
    const said = h("output", { class: "muted", for: "kernel-filter" });
    const input = h("input", { type: "search", id: "kernel-filter", placeholder: "Filter kernels", "aria-label": "Filter kernels by name, form, type or what they compute", autocomplete: "off", spellcheck: "false" });
    let plot = null;

    function choose(row, reveal) {
      table.select(row.id, { reveal });
      plot.select(row.id);
      chosen.replaceChildren(
        h("div", { class: "detail-head" }, Dom.swatch(Trace.side(trace, row.device)), h("h3", {}, row.name),
          h("span", { class: "muted" }, Trace.device(trace, row.device)),
          h("span", { class: "detail-actions" }, h("button", { type: "button", class: "quiet", onclick: () => showInTimeline(row.kernels) }, "Show in the timeline"))),
        row.text !== row.name ? h("p", {}, h("code", {}, Format.cut(row.text, 1000))) : "",
        h("p", { class: "muted" }, verdict(row)));
    }
    const table = new Table({
      caption: "Kernels", columns: columns(trace, rows), rows, sort: { key: "total", descending: true }, most: 40,
      empty: "No kernel matches the filter.", onSelect: (row) => choose(row, false), onHover: (row) => plot.mark(row?.id ?? null),
    });
    plot = Roofline.render(trace, rows, (row) => choose(row, true), (row) => table.mark(row?.id ?? null));
    input.addEventListener("input", () => {
      const left = table.filter(input.value);
      const kept = new Set(table.visible().map((row) => row.id));
      plot.keep(kept);
      said.textContent = input.value.trim() === "" ? "" : `${Format.count(left)} of ${Format.count(rows.length)}`;
    });
    host.replaceChildren(
      h("div", { class: "tools" }, h("div", { class: "find", role: "search" }, input, said)),
      table.element, h("div", { class: "beside" }, plot.element, chosen));
    return { show(kernel) {
      const row = rows.find((one) => one.kernels.has(kernel));
      if (row) choose(row, true);
      return row?.kernels ?? null;
    } };
  }

  // One sentence on what limits a kernel.
  function verdict(row) {
    const sizes = row.kernels.size > 1 ? ` over arrays of ${Format.count(row.kernels.size)} sizes` : "";
    const times = `${Format.plural(row.count, "launch", "launches")}${sizes} from ${Format.time(row.least)} to ${Format.time(row.most)}, after ${Format.time(row.queued)} in the queue on average.` +
      (row.peak === null ? "" : ` Arrays on its device had held ${Format.bytes(row.peak)} at most.`);
    const member = row.plans.length === 0 ? "" : ` It is kernel ${row.plans.slice(0, 8).map(([plan, step]) => `${step} of plan ${plan}`).join(", ")}${row.plans.length > 8 ? " and others" : ""}.`;
    if (!row.limited) return `${times}${member} Sorts, transforms, random numbers and lookups have limits of their own that nobody measures, so there is no fraction of a roof.`;
    if (row.roof === null) return `${times}${member} No roof was measured for this device and type, so there is no fraction of it.`;
    const limit = row.bound === "memory" ? "memory bandwidth" : "its matrix products";
    return `${times}${member} Bound by ${limit}; it reaches ${Format.percent(row.roof)} of what the device was measured to allow.`;
  }

  return { render };
})();
