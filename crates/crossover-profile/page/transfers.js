"use strict";
// Copies between devices: who moves how much, which way, how often and how fast, and how much of it hides behind kernels.
const Transfers = (() => {
  const { h } = Dom;

  // The direction of each copy by row of spans; null where the trace has no table of transfers.
  function directions(trace) {
    if (!trace.transfers) return null;
    const ways = new Map();
    for (let row = 0; row < trace.transfers.count; row += 1) ways.set(trace.transfers.span[row], [trace.transfers.from[row], trace.transfers.to[row]]);
    return ways;
  }

  const short = (trace, device) => (Trace.isHost(trace, device) ? "host" : Trace.device(trace, device));

  function gather(trace) {
    const { spans } = trace;
    const ways = directions(trace);
    const groups = new Map();
    for (let row = 0; row < spans.count; row += 1) {
      if (spans.kind[row] !== Trace.COPY) continue;
      const pair = ways?.get(row);
      const way = pair ? `${short(trace, pair[0])} → ${short(trace, pair[1])}` : null;
      const scope = Stats.path(trace, row).join(" › ");
      const name = Trace.string(trace, spans.name[row]);
      const id = `${name}\n${scope}\n${way}`;
      const one = groups.get(id) ?? { id, name, scope, way, count: 0, bytes: 0, time: 0, row, words: `${name} ${scope} ${way ?? ""}`.toLowerCase() };
      one.count += 1;
      one.bytes += spans.bytes[row];
      one.time += spans.duration[row];
      groups.set(id, one);
    }
    return [...groups.values()].map((one) => ({ ...one, rate: one.bytes > 0 && one.time > 0 ? (one.bytes / one.time) * 1e9 : null }));
  }

  // Totals by direction.
  function totals(rows) {
    const sums = new Map();
    for (const row of rows) {
      const name = row.way ?? "direction not recorded";
      const sum = sums.get(name) ?? { name, count: 0, bytes: 0, time: 0 };
      for (const key of ["count", "bytes", "time"]) sum[key] += row[key];
      sums.set(name, sum);
    }
    return [...sums.values()].sort((one, other) => other.bytes - one.bytes);
  }

  function figure(name, value, note) {
    return h("div", { class: "figure-box" }, h("p", { class: "eyebrow", title: Format.cut(name, 2000) }, Format.cut(name, 80)), h("p", { class: "big" }, value), h("p", { class: "muted" }, note));
  }

  function hidden(trace) {
    const activity = Object.fromEntries(Stats.activity(trace).map(({ colour, set }) => [colour, set]));
    const kernels = Intervals.union(trace.spans, (row) => trace.spans.kind[row] === Trace.KERNEL);
    const shared = Intervals.shared(activity.transfer, kernels);
    return figure("Behind kernels", Format.percent(shared / activity.transfer.total), `${Format.time(shared)} of ${Format.time(activity.transfer.total)} of copying overlapped a kernel`);
  }

  function render(trace, host, showSpan) {
    const rows = gather(trace);
    if (rows.length === 0) {
      host.replaceChildren(Dom.empty("No copies", "Nothing was moved between devices in this run."));
      return;
    }
    const heaviest = Stats.most(rows.map((row) => row.bytes));
    const table = new Table({
      caption: "Copies by what was moved and where in the program", rows, sort: { key: "bytes", descending: true }, most: 30,
      onSelect: (row) => showSpan(row.row),
      columns: [
        { key: "name", label: "What", value: (row) => row.name, cell: (row) => row.name },
        { key: "scope", label: "Scope", value: (row) => row.scope, cell: (row) => row.scope || "–", wide: true },
        { key: "way", label: "Direction", value: (row) => row.way, cell: (row) => row.way ?? "–" },
        { key: "count", label: "Times", numeric: true, value: (row) => row.count, cell: (row) => Format.count(row.count) },
        { key: "bytes", label: "Moved", numeric: true, value: (row) => row.bytes, cell: (row) => Table.bar(row.bytes / heaviest, Format.bytes(row.bytes), "transfer") },
        { key: "each", label: "Each", title: "Bytes of one copy, on average", numeric: true, value: (row) => row.bytes / row.count, cell: (row) => Format.bytes(row.bytes / row.count) },
        { key: "time", label: "Time", numeric: true, value: (row) => row.time, cell: (row) => Format.time(row.time) },
        { key: "share", label: "of wall", numeric: true, value: (row) => row.time / trace.wall, cell: (row) => Format.percent(row.time / trace.wall) },
        { key: "rate", label: "Rate", numeric: true, value: (row) => row.rate, cell: (row) => Format.rate(row.rate) },
      ],
    });
    host.replaceChildren(
      h("div", { class: "figure-row" },
        totals(rows).map((sum) => figure(sum.name, Format.bytes(sum.bytes), `${Format.plural(sum.count, "copy", "copies")} in ${Format.time(sum.time)}` + (sum.time > 0 ? `, ${Format.rate((sum.bytes / sum.time) * 1e9)}` : ""))),
        hidden(trace)),
      table.element);
  }

  return { render, figure };
})();
