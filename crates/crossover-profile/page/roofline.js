"use strict";
// The roofline: arithmetic per byte against arithmetic per second, both logarithmic, under the measured roofs of each device.
const Roofline = (() => {
  const { h, svg } = Dom;
  const WIDE = 900;
  const HIGH = 380;
  const EDGE = { left: 76, right: 20, top: 16, bottom: 44 };

  function scale(low, high, from, to) {
    const [a, b] = [Math.log10(low), Math.log10(high)];
    return (value) => from + ((Math.log10(value) - a) / (b - a)) * (to - from);
  }

  // Each roof: min(bandwidth × intensity, peak), for the types that the trace used.
  function roofs(trace, points) {
    const used = new Set(points.map((point) => `${point.device} ${point.dtype}`));
    return trace.devices.flatMap((device, number) =>
      Object.entries(device.flops ?? {})
        .filter(([dtype, peak]) => peak > 0 && device.bandwidth > 0 && used.has(`${number} ${dtype}`))
        .map(([dtype, peak]) => ({ number, name: device.name, dtype, peak, bandwidth: device.bandwidth })));
  }

  function extent(points, lines) {
    const xs = [...points.map((point) => point.intensity), ...lines.map((line) => line.peak / line.bandwidth)];
    const ys = [...points.map((point) => point.flopRate), ...lines.map((line) => line.peak)];
    const low = (values) => 10 ** Math.floor(Math.log10(Math.min(...values)) - 0.15);
    const high = (values) => 10 ** Math.ceil(Math.log10(Math.max(...values)) + 0.15);
    return { x: [low(xs), high(xs)], y: [low(ys), high(ys)] };
  }

  function axes(x, y, range) {
    const bottom = HIGH - EDGE.bottom;
    return [
      Axis.decades(...range.x).map((value) => [
        svg("line", { class: "grid", x1: x(value), x2: x(value), y1: EDGE.top, y2: bottom }),
        svg("text", { x: x(value), y: bottom + 16, "text-anchor": "middle" }, value >= 1 ? Format.count(value) : String(Number(value.toPrecision(1)))),
      ]),
      Axis.decades(...range.y).map((value) => [
        svg("line", { class: "grid", x1: EDGE.left, x2: WIDE - EDGE.right, y1: y(value), y2: y(value) }),
        svg("text", { x: EDGE.left - 8, y: y(value) + 4, "text-anchor": "end" }, Format.short(Format.flops(value))),
      ]),
      svg("text", { class: "axis", x: (EDGE.left + WIDE - EDGE.right) / 2, y: HIGH - 6, "text-anchor": "middle" }, "operations per byte"),
    ];
  }

  function roofLine(line, x, y, range, taken) {
    const colour = line.number === 0 ? "cpu" : "gpu";
    const ridge = Math.min(Math.max(line.peak / line.bandwidth, range.x[0]), range.x[1]);
    // The slope begins where it enters the picture.
    const begin = Math.max(range.x[0], range.y[0] / line.bandwidth);
    const at = (value) => y(Math.min(line.peak, line.bandwidth * value));
    const label = `${line.name} ${line.dtype}: ${Format.short(Format.flops(line.peak))}, ${Format.short(Format.rate(line.bandwidth))}`;
    // The name stands on its line, or higher where dots are in its way.
    const top = at(range.x[1]);
    const reach = taken.filter((dot) => dot.x > x(range.x[1]) - label.length * 6 && dot.top < top && dot.top > top - 24).map((dot) => dot.top);
    return svg("g", { class: "roof", style: `--mark: var(--${colour})` },
      svg("path", { d: `M${x(begin)} ${at(begin)}L${x(ridge)} ${at(ridge)}L${x(range.x[1])} ${at(range.x[1])}` }),
      svg("text", { x: x(range.x[1]) - 4, y: Math.min(top, ...reach) - 5, "text-anchor": "end" }, label));
  }

  function render(trace, rows, onSelect, onHover) {
    const points = rows.filter((row) => row.intensity !== null && row.flopRate > 0);
    const left = rows.length - points.length;
    const dots = new Map();
    const nothing = { element: null, select() {}, mark() {}, keep() {} };
    if (points.length === 0) {
      return { ...nothing, element: Dom.empty("No roofline", "No kernel has both bytes and arithmetic recorded, so none has a place in the plot.") };
    }
    const lines = roofs(trace, points);
    const range = extent(points, lines);
    const x = scale(...range.x, EDGE.left, WIDE - EDGE.right);
    const y = scale(...range.y, HIGH - EDGE.bottom, EDGE.top);
    const heaviest = Math.max(...points.map((point) => point.total));
    for (const point of points) {
      const label = `${point.name} on ${Trace.device(trace, point.device)}: ${Format.flops(point.flopRate)} at ${Format.digits(point.intensity)} operations per byte` +
        (point.roof === null ? "" : `, ${Format.percent(point.roof)} of the roof`);
      const dot = svg("circle", {
        class: "dot", cx: x(point.intensity), cy: y(point.flopRate), r: 4 + 8 * Math.sqrt(point.total / heaviest), tabindex: 0, role: "button", "aria-label": label,
        style: `--mark: var(--${Trace.isHost(trace, point.device) ? "cpu" : "gpu"})`, "data-id": point.id,
      });
      dot.addEventListener("click", () => onSelect(point));
      dot.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        onSelect(point);
      });
      dot.addEventListener("pointerenter", (event) => {
        onHover(point);
        Dom.tooltip.show(event.clientX, event.clientY, point.name, [
          ["arithmetic", Format.flops(point.flopRate)], ["per byte", Format.digits(point.intensity)],
          ["bandwidth", Format.rate(point.rate)], point.roof === null ? null : ["of the roof", Format.percent(point.roof)],
        ]);
      });
      dot.addEventListener("pointerleave", () => {
        onHover(null);
        Dom.tooltip.hide();
      });
      dots.set(point.id, dot);
    }
    const taken = points.map((point) => {
      const dot = dots.get(point.id);
      return { x: Number(dot.getAttribute("cx")), top: Number(dot.getAttribute("cy")) - Number(dot.getAttribute("r")) };
    });
    // Large dots first, so that small ones stay reachable on top of them.
    const drawn = [...points].sort((one, other) => other.total - one.total).map((point) => dots.get(point.id));
    const picture = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "roofline", role: "group", "aria-label": "Roofline plot; the table above has the same figures" },
      axes(x, y, range), drawn, lines.map((line) => roofLine(line, x, y, range, taken)));
    const notes = [];
    if (lines.length === 0) notes.push("No roofs are drawn: nobody measured this machine. Run “crossover calibrate” before the next profile.");
    if (left > 0) notes.push(`${Format.plural(left, "kernel")} without recorded arithmetic ${left === 1 ? "is" : "are"} in the table only.`);
    const marked = (name, id) => dots.forEach((dot, key) => dot.classList.toggle(name, key === id));
    return {
      element: h("figure", { class: "plot" }, h("figcaption", {}, h("h3", {}, "Roofline"), h("p", { class: "muted" }, ["A dot is a kernel, its area the time it took. The higher under its line, the better.", ...notes].join(" "))), h("div", { class: "plot-scroll" }, picture)),
      select: (id) => marked("selected", id),
      mark: (id) => marked("marked", id),
      keep: (ids) => dots.forEach((dot, key) => dot.classList.toggle("faded", !ids.has(key))),
    };
  }

  return { render };
})();
