"use strict";
// What follows from the spans: figures of each kernel on each device, the scope that a span belongs to, activity by class.
const Stats = (() => {
  // A quantile of sorted values, between neighbours.
  function quantile(sorted, share) {
    const place = (sorted.length - 1) * share;
    const low = Math.floor(place);
    const high = Math.ceil(place);
    return sorted[low] + (sorted[high] - sorted[low]) * (place - low);
  }

  // The least time that the device's measured roofs allow, or null where nobody measured them.
  function roof(trace, number, bytes, flops, dtype) {
    const device = trace.devices[number];
    const peak = device?.flops?.[dtype];
    const bandwidth = device?.bandwidth;
    const memory = bandwidth > 0 ? bytes / bandwidth : null;
    const compute = flops > 0 ? (peak > 0 ? flops / peak : null) : 0;
    if (memory === null || compute === null) return null;
    const seconds = Math.max(memory, compute);
    return seconds > 0 ? { ns: seconds * 1e9, bound: memory >= compute ? "memory" : "compute" } : null;
  }

  function figures(trace, kernel, device, durations) {
    const { kernels } = trace;
    durations.sort();
    let total = 0;
    for (const duration of durations) total += duration;
    const mean = total / durations.length;
    const middle = quantile(durations, 0.5);
    const bytes = kernels.read[kernel] + kernels.written[kernel];
    const flops = kernels.flops[kernel];
    const dtype = Trace.string(trace, kernels.dtype[kernel]);
    const limit = roof(trace, device, bytes, flops, dtype);
    const rate = (amount) => (amount > 0 && mean > 0 ? (amount / mean) * 1e9 : null);
    return {
      id: `${kernel}/${device}`, kernel, device, dtype,
      name: Trace.string(trace, kernels.name[kernel]),
      form: Trace.string(trace, kernels.form[kernel]),
      text: Trace.string(trace, kernels.text[kernel]),
      count: durations.length, total, mean, middle,
      share: trace.wall > 0 ? total / trace.wall : null,
      // Half the distance between the tenth and the ninetieth percentile, against the median: one outlier does not move it.
      spread: durations.length > 1 && middle > 0 ? (quantile(durations, 0.9) - quantile(durations, 0.1)) / 2 / middle : null,
      least: durations[0], most: durations[durations.length - 1],
      bytes: bytes > 0 ? bytes : null, flops: flops > 0 ? flops : null,
      rate: rate(bytes), flopRate: rate(flops),
      intensity: bytes > 0 && flops > 0 ? flops / bytes : null,
      roof: limit && mean > 0 ? limit.ns / mean : null,
      bound: limit?.bound ?? null,
    };
  }

  // One row for each kernel on each device where it ran, longest first.
  function kernels(trace) {
    const { spans, tracks } = trace;
    const groups = new Map();
    for (let row = 0; row < spans.count; row += 1) {
      if (spans.kind[row] !== Trace.KERNEL || spans.kernel[row] < 0) continue;
      const device = tracks[spans.track[row]].device ?? 0;
      const key = spans.kernel[row] * 4096 + device;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(spans.duration[row]);
    }
    return [...groups]
      .map(([key, durations]) => figures(trace, Math.floor(key / 4096), key % 4096, Float64Array.from(durations)))
      .sort((one, other) => other.total - one.total);
  }

  // The names of the scopes around a span, outermost first; long chains of a damaged file end.
  function path(trace, row) {
    const names = [];
    const { spans } = trace;
    for (let at = spans.parent[row], left = 64; at >= 0 && left > 0; at = spans.parent[at], left -= 1) {
      if (spans.kind[at] === 0) names.unshift(Trace.string(trace, spans.name[at]));
    }
    return names;
  }

  // Copies and kernels as sets of moments.
  function activity(trace) {
    const { spans } = trace;
    const of = (colour) => Intervals.union(spans, (row) => Trace.colour(trace, row) === colour);
    return ["cpu", "gpu", "transfer", "compile"].map((colour) => ({ colour, set: of(colour) }));
  }

  return { kernels, path, activity, quantile };
})();
