"use strict";
// Ticks: round numbers about so far apart, and times written as finely as the ticks are.
const Axis = (() => {
  const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];

  function step(range, most) {
    const rough = range / Math.max(1, most);
    const power = 10 ** Math.floor(Math.log10(rough));
    return power * ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10);
  }

  function ticks(from, to, most) {
    if (!(to > from)) return { step: 1, values: [from] };
    const size = step(to - from, most);
    const values = [];
    for (let index = Math.ceil(from / size); index * size <= to; index += 1) values.push(index * size);
    return { step: size, values };
  }

  function time(ns, size) {
    if (ns === 0) return "0";
    const [unit, name] = UNITS.find(([least]) => ns >= least) ?? [1, "ns"];
    const places = Math.max(0, Math.min(9, Math.ceil(-Math.log10(size / unit) - 1e-9)));
    return `${(ns / unit).toFixed(places)}\u202f${name}`;
  }

  // Powers of ten between two numbers.
  function decades(from, to) {
    const values = [];
    for (let power = Math.ceil(Math.log10(from) - 1e-9); power <= Math.log10(to) + 1e-9; power += 1) values.push(10 ** power);
    return values;
  }

  return { ticks, time, decades };
})();
