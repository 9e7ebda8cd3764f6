"use strict";
// Sets of moments as sorted, disjoint intervals: how much of a stretch of time is covered, and how much two sets share.
const Intervals = (() => {
  // The first index whose value is above `limit`, in a sorted array.
  function above(values, limit, from = 0) {
    let low = from;
    let high = values.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (values[middle] > limit) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // The first index whose value is at least `limit`.
  function atLeast(values, limit, from = 0) {
    let low = from;
    let high = values.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (values[middle] >= limit) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // The union of the spans that `wanted` accepts; spans are in order of start.
  function union(spans, wanted) {
    const start = [];
    const end = [];
    for (let row = 0; row < spans.count; row += 1) {
      if (!wanted(row) || spans.duration[row] === 0) continue;
      const last = end.length - 1;
      if (last >= 0 && spans.start[row] <= end[last]) end[last] = Math.max(end[last], spans.end[row]);
      else {
        start.push(spans.start[row]);
        end.push(spans.end[row]);
      }
    }
    const before = new Float64Array(start.length + 1);
    for (let index = 0; index < start.length; index += 1) before[index + 1] = before[index] + end[index] - start[index];
    return { start, end, before, total: before[start.length] };
  }

  // Time of [from, to) that the set covers.
  function covered(set, from, to) {
    const first = above(set.end, from);
    const last = atLeast(set.start, to);
    if (first >= last) return 0;
    let sum = set.before[last] - set.before[first];
    sum -= Math.max(0, from - set.start[first]);
    sum -= Math.max(0, set.end[last - 1] - to);
    return sum;
  }

  function shared(one, other) {
    let sum = 0;
    for (let index = 0; index < one.start.length; index += 1) sum += covered(other, one.start[index], one.end[index]);
    return sum;
  }

  return { above, atLeast, union, covered, shared };
})();
