"use strict";
// The roofline: arithmetic per byte against arithmetic per second, under the measured roofs of each device.
const Roofline = (() => {
  const { svg } = Dom;
  const nothing = { select() {}, mark() {}, keep() {} };

  // Each roof: min(bandwidth × intensity, peak), for the types that the trace used.
  function roofs(trace, rows) {
    const used = new Set(rows.map((row) => `${row.device} ${row.dtype}`));
    return trace.devices.flatMap((device, number) =>
      Object.entries(device.flops ?? {})
        .filter(([dtype, peak]) => peak > 0 && device.bandwidth > 0 && used.has(`${number} ${dtype}`))
        .map(([dtype, peak]) => ({ colour: Trace.side(trace, number), name: device.name, dtype, peak, bandwidth: device.bandwidth })));
  }

  function roof(line, { x, y, range, taken }) {
    const ridge = Math.min(Math.max(line.peak / line.bandwidth, range.x[0]), range.x[1]);
    // The slope begins where it enters the picture.
    const begin = Math.max(range.x[0], range.y[0] / line.bandwidth);
    const at = (value) => y(Math.min(line.peak, line.bandwidth * value));
    const label = `${Format.cut(line.name, 40)} ${line.dtype}: ${Format.short(Format.flops(line.peak))}, ${Format.short(Format.rate(line.bandwidth))}`;
    // The name stands on its line, or higher where dots are in its way.
    const top = at(range.x[1]);
    const reach = taken.filter((dot) => dot.x > x(range.x[1]) - label.length * 6 && dot.top < top && dot.top > top - 24).map((dot) => dot.top);
    return svg("g", { class: "roof", style: `--mark: var(--${line.colour})` },
      svg("path", { d: `M${x(begin)} ${at(begin)}L${x(ridge)} ${at(ridge)}L${x(range.x[1])} ${at(range.x[1])}` }),
      svg("text", { x: x(range.x[1]) - 4, y: Math.min(top, ...reach) - 5, "text-anchor": "end" }, label));
  }

  function point(trace, row) {
    const share = row.roof === null ? "" : `, ${Format.percent(row.roof)} of the roof`;
    return {
      id: row.id, row, x: row.intensity, y: row.flopRate, weight: row.total, title: row.name,
      colour: Trace.side(trace, row.device),
      label: `${row.name} on ${Trace.device(trace, row.device)}: ${Format.flops(row.flopRate)} at ${Format.digits(row.intensity)} operations per byte${share}`,
      lines: [
        ["arithmetic", Format.flops(row.flopRate)], ["per byte", Format.digits(row.intensity)],
        ["bandwidth", Format.rate(row.rate)], row.roof === null ? null : ["of the roof", Format.percent(row.roof)],
      ],
    };
  }

  function render(trace, rows, onSelect, onHover) {
    const placed = rows.filter((row) => row.intensity !== null && row.flopRate > 0);
    if (placed.length === 0) {
      return { ...nothing, element: Dom.empty("No roofline", "No kernel has both bytes and arithmetic recorded, so none has a place in the plot.") };
    }
    const lines = roofs(trace, placed);
    const left = rows.length - placed.length;
    const notes = ["A dot is a kernel, its area the time it took. The higher under its line, the better; what a cache holds may lie above the slope, which is that of memory."];
    if (lines.length === 0) notes.push("No roofs are drawn: nobody measured this machine. Run “crossover calibrate” before the next profile.");
    if (left > 0) notes.push(`${Format.plural(left, "kernel")} without recorded arithmetic ${left === 1 ? "is" : "are"} in the table only.`);
    return Scatter.make({
      title: "Roofline", note: notes.join(" "), name: "Roofline plot; the table above has the same figures", onSelect, onHover,
      points: placed.map((row) => point(trace, row)),
      also: { x: lines.map((line) => line.peak / line.bandwidth), y: lines.map((line) => line.peak) },
      xText: (value) => (value >= 1 ? Format.count(value) : String(Number(value.toPrecision(1)))),
      yText: (value) => Format.short(Format.flops(value)), xName: "operations per byte", yName: "per second",
      draw: (plot) => lines.map((line) => roof(line, plot)),
    });
  }

  return { render };
})();
