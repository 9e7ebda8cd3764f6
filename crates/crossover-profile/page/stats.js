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

  // Not by spreading: a call takes only so many arguments.
  const most = (values) => values.reduce((high, value) => (value > high ? value : high), 0);

  // Fragmentation: the share of reserved bytes, live and cached, that no array holds; as `Memory::fragmentation`.
  const fragmentation = (live, cached) => (live + cached > 0 ? cached / (live + cached) : 0);

  // Bytes per second that a device was measured to move at a size, between what was measured as sizes double; as in src/figures.rs.
  function bandwidth(device, bytes) {
    const points = device.bandwidths ?? [];
    const after = points.findIndex(([size]) => size >= bytes);
    const [low, high] = after < 0 ? [points.at(-1), undefined] : [points[after - 1], points[after]];
    if (!low && !high) return device.bandwidth ?? null;
    if (!low || !high) return (low ?? high)[1];
    return low[1] + (Math.log(bytes / low[0]) / Math.log(high[0] / low[0])) * (high[1] - low[1]);
  }

  // The least time that the measured roofs of the device allow one launch, or null where nobody measured them and for kernels with other limits.
  function roof(trace, number, kernel) {
    const { kernels } = trace;
    const device = trace.devices[number];
    if (!device || kernels.roof[kernel] === 0) return null;
    const bytes = kernels.read[kernel] + kernels.written[kernel];
    const rate = bandwidth(device, bytes);
    const products = kernels.products[kernel];
    const peak = device.flops?.[Trace.string(trace, kernels.dtype[kernel])];
    if (!(rate > 0) || (products > 0 && !(peak > 0))) return null;
    const memory = bytes / rate;
    const compute = products > 0 ? products / peak : 0;
    const seconds = Math.max(memory, compute);
    return seconds > 0 ? { ns: seconds * 1e9, bound: compute > memory ? "compute" : "memory" } : null;
  }

  // Launches of one kernel on one device may differ in size: rates are sums over sums, and so is the fraction of the roof.
  function figures(trace, group) {
    const { kernels } = trace;
    const { device } = group;
    const durations = Float64Array.from(group.durations).sort();
    const [kernel] = group.kernels.keys();
    const dtype = Trace.string(trace, kernels.dtype[kernel]);
    let total = 0;
    for (const duration of durations) total += duration;
    let [bytes, flops, least, computing] = [0, 0, 0, 0];
    for (const [number, launches] of group.kernels) {
      const moved = kernels.read[number] + kernels.written[number];
      bytes += moved * launches;
      flops += kernels.flops[number] * launches;
      const limit = roof(trace, device, number);
      least = limit === null || least === null ? null : least + limit.ns * launches;
      if (limit?.bound === "compute") computing += limit.ns * launches;
    }
    const middle = quantile(durations, 0.5);
    const count = durations.length;
    const rate = (amount) => (amount > 0 && total > 0 ? (amount / total) * 1e9 : null);
    return {
      id: `${kernel}/${device}`, kernels: new Set(group.kernels.keys()), device, dtype,
      name: Trace.string(trace, kernels.name[kernel]),
      form: Trace.string(trace, kernels.form[kernel]),
      text: Trace.string(trace, kernels.text[kernel]),
      count, total, mean: total / count, middle,
      share: trace.wall > 0 ? total / trace.wall : null,
      // Half the distance between the tenth and the ninetieth percentile, against the median: one outlier does not move it.
      spread: count > 1 && middle > 0 ? (quantile(durations, 0.9) - quantile(durations, 0.1)) / 2 / middle : null,
      least: durations[0], most: durations[count - 1],
      bytes: bytes > 0 ? bytes / count : null, flops: flops > 0 ? flops / count : null,
      live: group.live > 0 ? group.live : null, peak: group.peak > 0 ? group.peak : null, queued: group.queued / count,
      rate: rate(bytes), flopRate: rate(flops),
      intensity: bytes > 0 && flops > 0 ? flops / bytes : null,
      roof: least !== null && total > 0 ? least / total : null,
      bound: least === null || total === 0 ? null : 2 * computing > least ? "compute" : "memory",
      limited: [...group.kernels.keys()].every((number) => kernels.roof[number] !== 0),
      plans: [...group.plans.values()].sort((one, other) => one[0] - other[0] || one[1] - other[1]),
    };
  }

  // One row for each kernel on each device where it ran, longest first. The same kernel over arrays of another size is the same.
  function kernels(trace) {
    const { spans, tracks, kernels: table } = trace;
    const names = Array.from(table.name, (_, row) => `${table.name[row]} ${table.form[row]} ${table.text[row]} ${table.dtype[row]}`);
    const groups = new Map();
    // By numbers first: a hundred thousand texts would be slow.
    const known = new Map();
    for (let row = 0; row < spans.count; row += 1) {
      const kernel = spans.kernel[row];
      if (spans.kind[row] !== Trace.KERNEL || kernel < 0) continue;
      const device = tracks[spans.track[row]].device ?? 0;
      const short = kernel * 4096 + device;
      let group = known.get(short);
      if (!group) {
        const key = `${names[kernel]} ${device}`;
        group = groups.get(key) ?? { device, kernels: new Map(), durations: [], live: 0, peak: 0, queued: 0, plans: new Map() };
        groups.set(key, group);
        known.set(short, group);
      }
      group.kernels.set(kernel, (group.kernels.get(kernel) ?? 0) + 1);
      group.durations.push(spans.duration[row]);
      const launch = spans.launch[row];
      if (launch >= 0) {
        group.live = Math.max(group.live, trace.launches.live[launch]);
        group.peak = Math.max(group.peak, trace.launches.peak[launch]);
        group.queued += Math.max(0, spans.start[row] - trace.launches.queued[launch]);
        const [plan, step] = [trace.launches.plan[launch], trace.launches.step[launch]];
        if (plan >= 0 && group.plans.size < 64) group.plans.set(plan * 65536 + step, [plan, step]);
      }
    }
    return [...groups.values()].map((group) => figures(trace, group)).sort((one, other) => other.total - one.total);
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

  return { kernels, path, activity, quantile, most, fragmentation };
})();
