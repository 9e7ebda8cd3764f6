"use strict";
// Placement: where kernels ran and why, what each device was predicted to take, what it took, and the regret.
// The regret of a launch is the time beyond the best prediction for another device, copies included on both sides, as in src/figures.rs: it is an estimate, as that
// device did not run it.
const Decisions = (() => {
  const { h } = Dom;

  function gather(trace) {
    const { spans, launches, kernels } = trace;
    const devices = trace.devices.length;
    const groups = new Map();
    for (let row = 0; row < spans.count; row += 1) {
      const launch = spans.launch[row];
      if (spans.kind[row] !== Trace.KERNEL || launch < 0) continue;
      const kernel = launches.kernel[launch];
      const device = launches.device[launch];
      // Sizes apart, the same kernel is one line.
      const key = `${kernels.name[kernel]}/${kernels.text[kernel]}/${kernels.dtype[kernel]}/${device}/${launches.reason[launch]}`;
      let one = groups.get(key);
      if (!one) {
        one = { id: key, kernel, device, name: Trace.string(trace, kernels.name[kernel]), reason: Trace.string(trace, launches.reason[launch]),
          count: 0, decided: 0, actual: 0, decidedActual: 0, regret: 0, worst: 0, moved: 0, sums: new Float64Array(devices), counts: new Float64Array(devices), alternatives: 0, row };
        groups.set(key, one);
      }
      one.count += 1;
      one.actual += spans.duration[row];
      one.moved += launches.moved[launch];
      const predicted = launches.predicted[launch];
      if (!Array.isArray(predicted) || predicted.length === 0) continue;
      one.decided += 1;
      one.decidedActual += spans.duration[row];
      const moving = launches.moving[launch];
      let other = Infinity;
      for (let at = 0; at < Math.min(devices, predicted.length); at += 1) {
        // Nothing was predicted for a device that could not have run it.
        if (!(predicted[at] > 0)) continue;
        one.sums[at] += predicted[at];
        one.counts[at] += 1;
        // Where devices were not compared nobody knows what it would have had to copy.
        if (at !== device && at < moving.length) other = Math.min(other, predicted[at] + moving[at]);
      }
      if (!Number.isFinite(other) || device >= moving.length) continue;
      one.alternatives += 1;
      const beyond = Math.max(0, spans.duration[row] + moving[device] - other);
      one.regret += beyond;
      // A click on the line shows the launch that cost most.
      if (beyond > one.worst) {
        one.worst = beyond;
        one.row = row;
      }
    }
    return [...groups.values()].map((one) => {
      const means = Array.from(one.sums, (sum, at) => (one.counts[at] > 0 ? sum / one.counts[at] : null));
      const own = means[one.device];
      return { ...one, means, mean: one.actual / one.count, off: own > 0 ? one.decidedActual / one.decided / own - 1 : null,
        regret: one.alternatives > 0 ? one.regret : null, words: `${one.name} ${one.reason} ${Trace.device(trace, one.device)}`.toLowerCase() };
    }).sort((one, other) => other.actual - one.actual);
  }

  function overview(trace, rows) {
    const launches = rows.reduce((sum, row) => sum + row.count, 0);
    const decided = rows.reduce((sum, row) => sum + row.alternatives, 0);
    const regret = rows.reduce((sum, row) => sum + (row.regret ?? 0), 0);
    const by = trace.devices.map((device, number) => [device.name, rows.filter((row) => row.device === number).reduce((sum, row) => sum + row.count, 0)]).filter(([, count]) => count > 0);
    const errors = Float64Array.from(rows.filter((row) => row.off !== null).map((row) => Math.abs(row.off))).sort();
    return h("div", { class: "figure-row" },
      by.map(([name, count]) => Transfers.figure(name, Format.count(count), `of ${Format.plural(launches, "launch", "launches")}`)),
      Transfers.figure("Regret", decided > 0 ? Format.time(regret) : "–",
        decided > 0 ? `${Format.percent(regret / trace.wall)} of the wall time, by the predictions for the other device, copies included` : "no launch had a prediction for another device"),
      Transfers.figure("Predictions off by", errors.length > 0 ? Format.percent(Stats.quantile(errors, 0.5)) : "–",
        errors.length > 0 ? `median over ${Format.plural(errors.length, "kernel and reason", "kernels and reasons")}` : "nothing was predicted"));
  }

  // Each line of the table as a dot: on the diagonal the prediction was right, above it the kernel took longer.
  function plot(trace, rows, showSpan, onHover) {
    const placed = rows.filter((row) => row.means[row.device] > 0 && row.mean > 0);
    if (placed.length === 0) return null;
    return Scatter.make({
      title: "Predicted against taken", name: "Predicted time against the time taken; the table above has the same figures",
      note: "A dot is a line of the table, its area the time it took. On the dashed line the prediction was right; above it the kernel took longer.",
      points: placed.map((row) => ({
        id: row.id, row, x: row.means[row.device], y: row.decidedActual / row.decided, weight: row.actual, title: row.name,
        colour: Trace.side(trace, row.device),
        label: `${row.name} on ${Trace.device(trace, row.device)}: predicted ${Format.time(row.means[row.device])}, took ${Format.time(row.mean)}`,
        lines: [["predicted", Format.time(row.means[row.device])], ["took", Format.time(row.decidedActual / row.decided)], ["off by", Format.change(row.off)]],
      })),
      xText: (value) => Format.short(Format.time(value)), yText: (value) => Format.short(Format.time(value)), xName: "predicted", yName: "took",
      draw: ({ x, y, range }) => {
        const low = Math.max(range.x[0], range.y[0]);
        const high = Math.min(range.x[1], range.y[1]);
        return low < high ? Dom.svg("line", { class: "diagonal", x1: x(low), y1: y(low), x2: x(high), y2: y(high) }) : [];
      },
      onSelect: (row) => showSpan(row.row), onHover,
    });
  }

  function render(trace, host, showSpan) {
    const rows = gather(trace);
    if (rows.length === 0) {
      host.replaceChildren(Dom.empty("No placement decisions", "No launch was recorded, so nothing had to be placed."));
      return;
    }
    const predictions = trace.devices.map((device, number) => ({
      key: `device-${number}`, label: `${Trace.place(trace, number)} predicted`, title: `Mean prediction for ${device.name}`, numeric: true,
      value: (row) => row.means[number],
      cell: (row) => (row.means[number] === null ? "–" : h("span", { class: row.device === number ? "chosen" : "passed" }, Format.time(row.means[number]))),
    }));
    const table = new Table({
      caption: "Placement by kernel, device and reason", rows, sort: { key: "regret", descending: true }, most: 40, onSelect: (row) => showSpan(row.row), onHover: (row) => picture?.mark(row?.id ?? null),
      columns: [
        { key: "name", label: "Kernel", value: (row) => row.name, cell: (row) => row.name, wide: true },
        { key: "device", label: "Ran on", value: (row) => Trace.device(trace, row.device),
          cell: (row) => [Dom.swatch(Trace.side(trace, row.device)), Trace.place(trace, row.device)] },
        { key: "reason", label: "Because", value: (row) => row.reason, cell: (row) => row.reason || "–", wide: true },
        { key: "count", label: "Launches", numeric: true, value: (row) => row.count, cell: (row) => Format.count(row.count) },
        ...predictions,
        { key: "mean", label: "Took", title: "Mean of what it took", numeric: true, value: (row) => row.mean, cell: (row) => Format.time(row.mean) },
        { key: "off", label: "Against prediction", title: "What it took against the prediction for that device", numeric: true, value: (row) => row.off, cell: (row) => Format.change(row.off) },
        { key: "moved", label: "Copied first", title: "Bytes that had to be copied for these launches", numeric: true, value: (row) => row.moved, cell: (row) => (row.moved > 0 ? Format.bytes(row.moved) : "0") },
        { key: "regret", label: "Regret", title: "Time beyond the best prediction for another device, copies included, all launches together", numeric: true, value: (row) => row.regret, cell: (row) => (row.regret === null ? "–" : Format.time(row.regret)) },
      ],
    });
    const picture = plot(trace, rows, showSpan, (row) => table.mark(row?.id ?? null));
    host.replaceChildren(overview(trace, rows), table.element, picture ? picture.element : "");
  }

  return { render };
})();
