"use strict";
// Memory of each device over time: what is live, kept in the pool, and used by others, against the budget; bands where the pressure
// was above normal; how much of the reserved memory lies idle.
const Memory = (() => {
  const { h } = Dom;
  const LEVELS = ["normal", "elevated", "high", "critical"];
  const GUTTER = 64;
  const AREA = 170;
  const STRIP = 66;

  function series(trace, device) {
    const { memory } = trace;
    const rows = [];
    for (let row = 0; row < memory.count; row += 1) if (memory.device[row] === device) rows.push(row);
    const column = (name) => Float64Array.from(rows, (row) => memory[name][row]);
    const one = { device, count: rows.length };
    for (const name of ["time", "live", "cached", "others", "budget", "level"]) one[name] = column(name);
    one.idle = Float64Array.from(rows, (_, index) => Stats.fragmentation(one.live[index], one.cached[index]));
    one.used = Float64Array.from(rows, (_, index) => one.live[index] + one.cached[index] + one.others[index]);
    return one;
  }

  const most = (values) => values.reduce((high, value) => Math.max(high, value), 0);

  // Time spent at each level; the last sample holds until the end.
  function levels(one, end) {
    const spent = [0, 0, 0, 0];
    for (let index = 0; index < one.count; index += 1) {
      const until = index + 1 < one.count ? one.time[index + 1] : end;
      spent[Math.min(3, one.level[index])] += Math.max(0, until - one.time[index]);
    }
    return spent;
  }

  // For each pixel the sample with the largest use in it: a short peak must not fall between two pixels.
  function columns(one, width, end) {
    const picked = new Int32Array(width).fill(-1);
    let next = 0;
    let current = -1;
    for (let x = 0; x < width; x += 1) {
      const until = ((x + 1) / width) * end;
      let best = current;
      while (next < one.count && one.time[next] < until) {
        if (best < 0 || best === current || one.used[next] > one.used[best]) best = next;
        current = next;
        next += 1;
      }
      picked[x] = best;
    }
    return picked;
  }

  function chart(trace, one) {
    const end = Math.max(trace.wall, one.time[one.count - 1], 1);
    const top = Math.max(most(one.used), most(one.budget)) * 1.06 || 1;
    const canvas = h("canvas", { class: "memory", style: `height: ${AREA + STRIP + 30}px`, role: "img",
      "aria-label": `Memory of ${Trace.device(trace, one.device)} over time: ${Format.bytes(most(one.live))} live at most; the table below has the samples` });
    const y = (value) => AREA - (value / top) * (AREA - 8);
    let picked = null;

    function area(context, width, low, high, colour) {
      context.beginPath();
      let open = false;
      for (let x = 0; x < width; x += 1) {
        if (picked[x] < 0) continue;
        if (!open) context.moveTo(GUTTER + x, y(low(picked[x])));
        open = true;
        context.lineTo(GUTTER + x, y(high(picked[x])));
        context.lineTo(GUTTER + x + 1, y(high(picked[x])));
      }
      for (let x = width - 1; x >= 0; x -= 1) if (picked[x] >= 0) context.lineTo(GUTTER + x, y(low(picked[x])));
      context.fillStyle = Theme.colour(colour);
      context.fill();
    }

    function frame(context, width) {
      context.font = Surface.FONT;
      context.textBaseline = "middle";
      const { values } = Axis.ticks(0, top, 4);
      for (const value of values) {
        context.fillStyle = Theme.colour("grid");
        context.fillRect(GUTTER, Math.round(y(value)), width, 1);
        context.fillStyle = Theme.colour("muted");
        context.textAlign = "right";
        context.fillText(Format.short(Format.bytes(value)), GUTTER - 8, Math.max(7, y(value)));
      }
      const { values: times, step } = Axis.ticks(0, end, width / 110);
      context.textAlign = "center";
      for (const value of times) {
        const x = GUTTER + (value / end) * width;
        const text = Axis.time(value, step);
        const half = context.measureText(text).width / 2;
        context.fillText(text, Math.min(Math.max(x, GUTTER + half), GUTTER + width - half), AREA + STRIP + 20);
      }
      context.textAlign = "left";
    }

    function bands(context, width) {
      for (let x = 0; x < width; x += 1) {
        if (picked[x] < 0) continue;
        const level = Math.min(3, one.level[picked[x]]);
        if (level === 0) continue;
        context.fillStyle = Theme.colour(`level-${level}`);
        context.fillRect(GUTTER + x, 0, 1, AREA);
      }
    }

    function strip(context, width) {
      const base = AREA + STRIP;
      const high = STRIP - 30;
      context.fillStyle = Theme.colour("muted");
      context.fillText("Fragmentation: reserved but idle", GUTTER, AREA + 17);
      context.textAlign = "right";
      context.fillText("100\u202f%", GUTTER - 8, base - high);
      context.fillText("0", GUTTER - 8, base);
      context.textAlign = "left";
      context.fillStyle = Theme.colour("grid");
      context.fillRect(GUTTER, base - high, width, 1);
      context.fillRect(GUTTER, base, width, 1);
      context.beginPath();
      let open = false;
      for (let x = 0; x < width; x += 1) {
        if (picked[x] < 0) continue;
        const at = base - one.idle[picked[x]] * high;
        if (open) context.lineTo(GUTTER + x, at);
        else context.moveTo(GUTTER + x, at);
        context.lineTo(GUTTER + x + 1, at);
        open = true;
      }
      context.strokeStyle = Theme.colour("compile");
      context.lineWidth = 1.5;
      context.stroke();
    }

    const surface = new Surface(canvas, (context, full) => {
      const width = Math.max(1, Math.floor(full - GUTTER));
      picked = columns(one, width, end);
      bands(context, width);
      frame(context, width);
      area(context, width, () => 0, (at) => one.live[at], "live");
      area(context, width, (at) => one.live[at], (at) => one.live[at] + one.cached[at], "cached");
      area(context, width, (at) => one.live[at] + one.cached[at], (at) => one.used[at], "others");
      context.setLineDash([5, 4]);
      context.strokeStyle = Theme.colour("ink");
      context.lineWidth = 1;
      context.beginPath();
      for (let x = 0, open = false; x < width; x += 1) {
        if (picked[x] < 0 || !(one.budget[picked[x]] > 0)) continue;
        if (open) context.lineTo(GUTTER + x, y(one.budget[picked[x]]));
        else context.moveTo(GUTTER + x, y(one.budget[picked[x]]));
        open = true;
      }
      context.stroke();
      context.setLineDash([]);
      strip(context, width);
    });

    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      const x = Math.floor(event.clientX - box.left - GUTTER);
      const at = picked && x >= 0 && x < picked.length ? picked[x] : -1;
      if (at < 0) return Dom.tooltip.hide();
      return Dom.tooltip.show(event.clientX, event.clientY, `at ${Format.time(one.time[at])}`, [
        ["live", Format.bytes(one.live[at])], ["cached", Format.bytes(one.cached[at])], ["others", Format.bytes(one.others[at])],
        ["budget", Format.bytes(one.budget[at])], ["idle of reserved", Format.percent(one.idle[at])], ["pressure", LEVELS[Math.min(3, one.level[at])]],
      ]);
    });
    canvas.addEventListener("pointerleave", () => Dom.tooltip.hide());
    return surface.canvas;
  }

  function facts(trace, one) {
    const end = Math.max(trace.wall, 1);
    const spent = levels(one, end);
    const peak = most(one.used);
    const budget = most(one.budget);
    const above = spent.slice(1).map((time, index) => [LEVELS[index + 1], time, index + 1]).filter(([, time]) => time > 0);
    return h("ul", { class: "key" },
      h("li", {}, Dom.swatch("live"), `live, ${Format.bytes(most(one.live))} at most`),
      h("li", {}, Dom.swatch("cached"), `cached, ${Format.bytes(most(one.cached))} at most`),
      h("li", {}, Dom.swatch("others"), `other programs, ${Format.bytes(most(one.others))} at most`),
      budget > 0 ? h("li", {}, h("span", { class: "dash", "aria-hidden": "true" }), `budget ${Format.bytes(budget)}, ${Format.percent(peak / budget)} of it used at the peak`) : "",
      above.map(([name, time, level]) => h("li", {}, Dom.swatch(`level-${level}`), `${name} pressure for ${Format.time(time)}`)),
      above.length === 0 ? h("li", {}, "pressure was normal throughout") : "");
  }

  function samples(trace, one) {
    const wanted = 100;
    const every = Math.max(1, Math.ceil(one.count / wanted));
    const rows = [];
    for (let at = 0; at < one.count; at += every) rows.push({ id: String(at), at });
    const column = (key, label, show) => ({ key, label, numeric: true, value: (row) => one[key][row.at], cell: (row) => show(one[key][row.at]) });
    const caption = every === 1 ? "All samples" : `Every ${every}th of ${Format.count(one.count)} samples`;
    const box = h("details", { class: "alternative" }, h("summary", {}, `Memory of ${Format.cut(Trace.device(trace, one.device), 120)} as a table`));
    box.addEventListener("toggle", () => box.append(h("p", { class: "muted" }, caption), new Table({
      caption, rows, sort: { key: "time", descending: false }, most: wanted,
      columns: [
        column("time", "Time", Format.time), column("live", "Live", Format.bytes), column("cached", "Cached", Format.bytes),
        column("others", "Others", Format.bytes), column("budget", "Budget", Format.bytes), column("idle", "Idle of reserved", Format.percent),
        { key: "level", label: "Pressure", value: (row) => one.level[row.at], cell: (row) => LEVELS[Math.min(3, one.level[row.at])] },
      ],
    }).element), { once: true });
    return box;
  }

  function events(trace) {
    const { events: table } = trace;
    if (table.count === 0) return h("p", { class: "muted" }, "No fallback, spill, retry or change of pressure was recorded.");
    const rows = Array.from(table.time, (time, row) => ({ id: String(row), time, kind: Trace.string(trace, table.kind[row]), text: Trace.string(trace, table.text[row]) }));
    return [h("h3", {}, "Events"), new Table({
      caption: "Events", rows, sort: { key: "time", descending: false }, most: 12,
      columns: [
        { key: "time", label: "Time", value: (row) => row.time, cell: (row) => Format.time(row.time) },
        { key: "kind", label: "Event", value: (row) => row.kind, cell: (row) => row.kind },
        { key: "text", label: "What happened", value: (row) => row.text, cell: (row) => row.text, wide: true },
      ],
    }).element];
  }

  function render(trace, host) {
    const devices = [...new Set(trace.memory.device)].sort((one, other) => other - one);
    const parts = devices.map((device) => {
      const one = series(trace, device);
      return h("div", { class: "memory-device" }, h("h3", {}, Format.cut(Trace.device(trace, device), 120)), facts(trace, one), chart(trace, one), samples(trace, one));
    });
    if (parts.length === 0) parts.push(Dom.empty("No memory samples", "No device allocated or freed memory while the session was open, so nothing was sampled."));
    host.replaceChildren(...parts, h("div", { class: "events" }, events(trace)));
  }

  return { render };
})();
