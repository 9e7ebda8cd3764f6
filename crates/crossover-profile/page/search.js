"use strict";
// Finds spans by name. The strings are searched, not the spans: there are few distinct names.
const Search = (() => {
  function find(trace, text) {
    const wanted = text.trim().toLowerCase();
    if (wanted === "") return null;
    const { spans, strings } = trace;
    const named = strings.map((one) => String(one).toLowerCase().includes(wanted));
    return gather(spans, (row) => spans.name[row] >= 0 && named[spans.name[row]]);
  }

  const ofKernels = (trace, kernels) => gather(trace.spans, (row) => kernels.has(trace.spans.kernel[row]));

  function gather(spans, wanted) {
    const matching = new Uint8Array(spans.count);
    const rows = [];
    let time = 0;
    for (let row = 0; row < spans.count; row += 1) {
      if (!wanted(row)) continue;
      matching[row] = 1;
      rows.push(row);
      time += spans.duration[row];
    }
    return { matching, rows, time };
  }

  // The next match after the selected one, around the end.
  function step(found, selected, direction) {
    if (found.rows.length === 0) return -1;
    const place = Intervals.atLeast(found.rows, selected);
    const on = found.rows[place] === selected;
    const next = direction > 0 ? place + (on ? 1 : 0) : place - 1;
    return found.rows[(next + found.rows.length) % found.rows.length];
  }

  return { find, ofKernels, step };
})();
