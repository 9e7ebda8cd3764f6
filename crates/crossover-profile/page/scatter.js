"use strict";
// A picture of dots on two logarithmic axes, each dot a button with a name; sections add their lines to it.
const Scatter = (() => {
  const { h, svg } = Dom;
  const WIDE = 900;
  const HIGH = 380;
  // Each is an element and a stop of the tab key; the table has the others.
  const DOTS = 400;
  const EDGE = { left: 76, right: 20, top: 26, bottom: 44 };

  function scale([low, high], from, to) {
    const [a, b] = [Math.log10(low), Math.log10(high)];
    return (value) => from + ((Math.log10(value) - a) / (b - a)) * (to - from);
  }

  // Whole decades around the values, with a little room.
  function decades(values) {
    const logs = values.map((value) => Math.log10(value)).sort((one, other) => one - other);
    return [10 ** Math.floor(logs[0] - 0.15), 10 ** Math.ceil(logs[logs.length - 1] + 0.15)];
  }

  function axes(plot, { xText, yText, xName, yName }) {
    const bottom = HIGH - EDGE.bottom;
    return [
      Axis.decades(...plot.range.x).map((value) => [
        svg("line", { class: "grid", x1: plot.x(value), x2: plot.x(value), y1: EDGE.top, y2: bottom }),
        svg("text", { x: plot.x(value), y: bottom + 16, "text-anchor": "middle" }, xText(value)),
      ]),
      Axis.decades(...plot.range.y).map((value) => [
        svg("line", { class: "grid", x1: EDGE.left, x2: WIDE - EDGE.right, y1: plot.y(value), y2: plot.y(value) }),
        svg("text", { x: EDGE.left - 8, y: plot.y(value) + 4, "text-anchor": "end" }, yText(value)),
      ]),
      svg("text", { class: "axis", x: (EDGE.left + WIDE - EDGE.right) / 2, y: HIGH - 6, "text-anchor": "middle" }, xName),
      svg("text", { class: "axis", x: EDGE.left - 8, y: 11, "text-anchor": "end" }, yName),
    ];
  }

  function dot(plot, point, onSelect, onHover) {
    const circle = svg("circle", {
      class: "dot", cx: plot.x(point.x), cy: plot.y(point.y), r: point.radius, tabindex: 0, role: "button", "aria-label": point.label,
      style: `--mark: var(--${point.colour})`, "data-id": point.id,
    });
    circle.addEventListener("click", () => onSelect(point.row));
    circle.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      onSelect(point.row);
    });
    circle.addEventListener("pointerenter", (event) => {
      onHover(point.row);
      Dom.tooltip.show(event.clientX, event.clientY, point.title, point.lines);
    });
    circle.addEventListener("pointerleave", () => {
      onHover(null);
      Dom.tooltip.hide();
    });
    return circle;
  }

  // points: {id, x, y, weight, colour, label, title, lines, row}; `lines` of the picture come from what it gets: scales, ranges, dots.
  function make({ title, note, name, points: all, also = { x: [], y: [] }, xText, yText, xName, yName, draw, onSelect, onHover }) {
    // Large dots first, so that small ones stay reachable on top of them.
    const points = [...all].sort((one, other) => other.weight - one.weight).slice(0, DOTS);
    const left = all.length > DOTS ? ` The ${DOTS} heaviest of ${Format.count(all.length)} are drawn.` : "";
    const range = { x: decades([...points.map((point) => point.x), ...also.x]), y: decades([...points.map((point) => point.y), ...also.y]) };
    const plot = { range, x: scale(range.x, EDGE.left, WIDE - EDGE.right), y: scale(range.y, HIGH - EDGE.bottom, EDGE.top) };
    const heaviest = points[0].weight;
    for (const point of points) point.radius = 4 + 8 * Math.sqrt(heaviest > 0 ? point.weight / heaviest : 0);
    plot.taken = points.map((point) => ({ x: plot.x(point.x), top: plot.y(point.y) - point.radius }));
    const dots = new Map(points.map((point) => [point.id, dot(plot, point, onSelect, onHover)]));
    const picture = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, class: "scatter", role: "group", "aria-label": name },
      axes(plot, { xText, yText, xName, yName }), [...dots.values()], draw(plot));
    const marked = (mark, id) => dots.forEach((circle, key) => circle.classList.toggle(mark, key === id));
    return {
      element: h("figure", { class: "plot" }, h("figcaption", {}, h("h3", {}, title), h("p", { class: "muted" }, note + left)), h("div", { class: "plot-scroll" }, picture)),
      select: (id) => marked("selected", id),
      mark: (id) => marked("marked", id),
      keep: (ids) => dots.forEach((circle, key) => circle.classList.toggle("faded", !ids.has(key))),
    };
  }

  return { make };
})();
