"use strict";
// Two runs side by side: A is the earlier, B the one to judge. One run each gives no interval, and the page says so.
const Compare = (() => {
  const { h } = Dom;

  // Differences that make the comparison one of machines, not of code.
  function differences(a, b) {
    const notes = [];
    const shown = (value) => Format.cut(String(value ?? "unknown"), 200);
    const say = (what, one, other) => {
      if (JSON.stringify(one) !== JSON.stringify(other)) notes.push(`${what}: ${shown(one)} in A, ${shown(other)} in B.`);
    };
    say("Another processor", a.machine.cpu, b.machine.cpu);
    say("Another number of threads", a.machine.threads, b.machine.threads);
    say("Other devices", a.devices.map((device) => device.name).join(", "), b.devices.map((device) => device.name).join(", "));
    say("Another command", a.command, b.command);
    return notes;
  }

  function headline(a, b) {
    if (!(a.wall > 0)) return h("p", { class: "verdict" }, "A took no time, so there is no ratio.");
    const change = b.wall / a.wall - 1;
    const word = change < 0 ? "less" : "more";
    return h("p", { class: "verdict" },
      Math.abs(change) < 0.0005 ? "B took as long as A" : [h("b", {}, Format.percent(Math.abs(change))), ` ${word} wall time in B`],
      h("span", { class: "muted" }, ` ${Format.time(a.wall)} → ${Format.time(b.wall)}`));
  }

  function bars(a, b) {
    if (!a.breakdown || !b.breakdown) return Dom.empty("No breakdown in one of the runs", "Its trace has no member “breakdown”.");
    const full = Math.max(Summary.whole(a), Summary.whole(b));
    const line = (letter, trace) => h("div", { class: "versus" }, h("b", {}, letter), h("span", { class: "versus-name" }, trace.name), Summary.bar(trace, full, `Breakdown of ${letter}`), h("span", { class: "numeric" }, Format.time(trace.wall)));
    return h("div", { class: "overlaid" }, line("A", a), line("B", b));
  }

  function change(key, label) {
    return { key, label, numeric: true, value: (row) => row.difference, cell: (row) => {
      const share = row.scale > 0 ? Math.abs(row.difference ?? 0) / row.scale : 0;
      return h("span", { class: `diverging ${row.difference > 0 ? "slower" : "faster"}`, style: `--share: ${share * 50}%` }, Format.difference(row.difference));
    } };
  }

  function ratio(row) {
    if (row.a === null || row.a === 0) return row.b > 0 ? "only in B" : "–";
    if (row.b === null) return "only in A";
    return Format.change(row.b / row.a - 1);
  }

  const share = (row) => (row.a > 0 && row.b !== null ? row.b / row.a - 1 : null);

  function parts(a, b) {
    if (!a.breakdown || !b.breakdown) return "";
    const [one, other] = [Summary.parts(a), Summary.parts(b)];
    const scale = Stats.most(one.map((part, index) => Math.abs(other[index].ns - part.ns)));
    const rows = one.map((part, index) => ({ id: part.key, name: part.name, colour: part.colour, order: index, a: part.ns, b: other[index].ns, difference: other[index].ns - part.ns, scale }));
    return new Table({
      caption: "Breakdown of both runs", rows, sort: { key: "name", descending: false },
      columns: [
        { key: "name", label: "Part", value: (row) => row.order, cell: (row) => [Dom.swatch(row.colour), row.name] },
        { key: "a", label: "A", numeric: true, value: (row) => row.a, cell: (row) => Format.time(row.a) },
        { key: "b", label: "B", numeric: true, value: (row) => row.b, cell: (row) => Format.time(row.b) },
        change("difference", "Change"),
        { key: "ratio", label: "Relative", numeric: true, value: share, cell: ratio },
      ],
    }).element;
  }

  // Kernels match by name, what they compute, type and kind of device: numbers of rows differ between runs.
  function kernels(a, b) {
    const key = (trace, row) => [row.name, row.text, row.dtype, Trace.place(trace, row.device)].join("\n");
    const pairs = new Map();
    for (const [side, trace] of [["a", a], ["b", b]]) {
      for (const row of Stats.kernels(trace)) {
        const id = key(trace, row);
        const pair = pairs.get(id) ?? { id, name: row.name, text: row.text, colour: Trace.side(trace, row.device), where: Trace.place(trace, row.device), a: null, b: null, aCount: 0, bCount: 0 };
        // The same kernel over arrays of several sizes is several rows of the trace.
        pair[side] = (pair[side] ?? 0) + row.total;
        pair[`${side}Count`] += row.count;
        pairs.set(id, pair);
      }
    }
    const rows = [...pairs.values()].map((pair) => ({ ...pair, difference: (pair.b ?? 0) - (pair.a ?? 0), words: `${pair.name} ${pair.text} ${pair.where}`.toLowerCase() }));
    const scale = Stats.most(rows.map((row) => Math.abs(row.difference)));
    for (const row of rows) row.scale = scale;
    const mean = (total, count) => (count > 0 ? total / count : null);
    const time = (value) => (value === null ? "–" : Format.time(value));
    const input = h("input", { type: "search", id: "compare-filter", placeholder: "Filter kernels", "aria-label": "Filter compared kernels", autocomplete: "off", spellcheck: "false" });
    const table = new Table({
      caption: "Kernels of both runs", rows, sort: { key: "difference", descending: true }, most: 40, empty: "No kernel matches the filter.",
      columns: [
        { key: "name", label: "Kernel", value: (row) => row.name, cell: (row) => row.name, wide: true },
        { key: "where", label: "Device", value: (row) => row.where, cell: (row) => [Dom.swatch(row.colour), row.where] },
        { key: "launches", label: "Launches A → B", numeric: true, value: (row) => row.bCount, cell: (row) => `${Format.count(row.aCount)} → ${Format.count(row.bCount)}` },
        { key: "meanA", label: "Mean A", numeric: true, value: (row) => mean(row.a, row.aCount), cell: (row) => time(mean(row.a, row.aCount)) },
        { key: "meanB", label: "Mean B", numeric: true, value: (row) => mean(row.b, row.bCount), cell: (row) => time(mean(row.b, row.bCount)) },
        { key: "a", label: "Total A", numeric: true, value: (row) => row.a, cell: (row) => time(row.a) },
        { key: "b", label: "Total B", numeric: true, value: (row) => row.b, cell: (row) => time(row.b) },
        change("difference", "Change"),
        { key: "ratio", label: "Relative", numeric: true, value: share, cell: ratio },
      ],
    });
    input.addEventListener("input", () => table.filter(input.value));
    return [h("div", { class: "tools" }, h("div", { class: "find", role: "search" }, input)), table.element];
  }

  function render(traces, host, open) {
    const [a, b] = traces;
    // On paper a comparison of one run is left out.
    host.closest("section").classList.toggle("alone", !b);
    if (!b) {
      host.replaceChildren(h("div", { class: "empty" }, h("p", { class: "empty-title" }, "One run is open"),
        h("p", {}, "Drop a second trace anywhere on this page, or choose one, to see what changed."),
        h("button", { type: "button", class: "quiet", onclick: open }, "Compare with…")));
      return;
    }
    const notes = differences(a, b);
    host.replaceChildren(
      headline(a, b),
      h("p", { class: "muted" }, "One run each: this shows where time moved, not whether the difference would repeat. ", h("code", {}, "crossover compare"), " runs both interleaved and gives intervals."),
      notes.length > 0 ? h("ul", { class: "warning" }, notes.map((note) => h("li", {}, note))) : "",
      bars(a, b), parts(a, b), h("h3", {}, "Kernels"), ...kernels(a, b));
  }

  return { render };
})();
