"use strict";
// The section around the timeline: its tools, its detail, and the same facts as tables.
const TimelinePanel = (() => {
  const { h } = Dom;
  const LEGEND = [
    ["cpu", "CPU kernel"], ["gpu", "GPU kernel"], ["transfer", "copy"], ["compile", "compiling"],
    ["overhead", "planning"], ["waiting", "waiting"], ["evaluation", "evaluation"], ["scope", "scope"],
  ];

  function legend(trace) {
    const seen = new Set();
    for (let row = 0; row < trace.spans.count; row += 1) seen.add(Trace.colour(trace, row));
    return h("ul", { class: "key", "aria-label": "Colours" },
      LEGEND.filter(([colour]) => seen.has(colour)).map(([colour, name]) => h("li", {}, Dom.swatch(colour), name)),
      trace.estimates > 0 ? h("li", {}, h("span", { class: "swatch hatched", "aria-hidden": "true" }), "not timed") : "");
  }

  function tracksTable(timeline) {
    const { spans } = timeline.trace;
    const rows = timeline.tracks.map((track) => {
      const set = Intervals.union(spans, (row) => spans.track[row] === track.index && spans.kind[row] >= Trace.KERNEL && spans.kind[row] <= Trace.COMPILE);
      const count = track.lanes.reduce((sum, lane) => sum + lane.row.length, 0);
      return { id: String(track.index), name: track.name, kind: String(track.kind ?? ""), count, busy: set.total, share: set.total / timeline.length };
    });
    return new Table({
      caption: "Tracks", rows, sort: { key: "busy", descending: true },
      columns: [
        { key: "name", label: "Track", value: (row) => row.name, cell: (row) => row.name },
        { key: "kind", label: "Kind", value: (row) => row.kind, cell: (row) => row.kind },
        { key: "count", label: "Spans", numeric: true, value: (row) => row.count, cell: (row) => Format.count(row.count) },
        { key: "busy", label: "Busy", title: "Time in kernels, copies and compilers", numeric: true, value: (row) => row.busy, cell: (row) => Format.time(row.busy) },
        { key: "share", label: "Share", numeric: true, value: (row) => row.share, cell: (row) => Format.percent(row.share) },
      ],
    });
  }

  // The longest spans; all of them would be as many elements as spans.
  function longest(timeline, most = 50) {
    const { trace } = timeline;
    const { spans } = trace;
    let floor = 0;
    let kept = [];
    for (let row = 0; row < spans.count; row += 1) {
      if (spans.duration[row] < floor) continue;
      kept.push(row);
      if (kept.length >= most * 4) {
        kept = kept.sort((one, other) => spans.duration[other] - spans.duration[one]).slice(0, most);
        floor = spans.duration[kept[most - 1]];
      }
    }
    const rows = kept.sort((one, other) => spans.duration[other] - spans.duration[one]).slice(0, most).map((row) => ({
      id: String(row), row, name: Trace.string(trace, spans.name[row]), kind: Trace.KIND_NAMES[Trace.KINDS[spans.kind[row]]],
      track: String(trace.tracks[spans.track[row]].name), start: spans.start[row], duration: spans.duration[row],
    }));
    return new Table({
      caption: `The ${Format.plural(rows.length, "longest span", "longest spans")}`, rows, sort: { key: "duration", descending: true },
      onSelect: (row) => timeline.select(row.row, { reveal: true }),
      columns: [
        { key: "name", label: "Span", value: (row) => row.name, cell: (row) => row.name },
        { key: "kind", label: "Kind", value: (row) => row.kind, cell: (row) => row.kind },
        { key: "track", label: "Track", value: (row) => row.track, cell: (row) => row.track },
        { key: "start", label: "Start", numeric: true, value: (row) => row.start, cell: (row) => Format.time(row.start) },
        { key: "duration", label: "Duration", numeric: true, value: (row) => row.duration, cell: (row) => Format.time(row.duration) },
      ],
    });
  }

  function alternative(timeline) {
    const box = h("details", { class: "alternative" }, h("summary", {}, "Timeline as tables: tracks and longest spans"));
    // Made when asked for: most readers never open it.
    box.addEventListener("toggle", () => box.append(tracksTable(timeline).element, longest(timeline).element), { once: true });
    return box;
  }

  function render(trace, host, showKernel, onSearch) {
    const overview = h("canvas", { class: "overview", "aria-hidden": "true", style: `height: ${Timeline.OVERVIEW}px` });
    const canvas = h("canvas", {
      class: "tracks", id: "timeline-canvas", tabindex: 0, role: "application", "aria-roledescription": "timeline",
      "aria-label": `Timeline: ${Format.plural(trace.spans.count, "span")} on ${Format.plural(trace.tracks.length, "track")}`,
      "aria-describedby": "timeline-keys",
    });
    const input = h("input", { type: "search", id: "search", placeholder: "Find spans", "aria-label": "Find spans by name", autocomplete: "off", spellcheck: "false" });
    const result = h("output", { class: "muted", for: "search" });
    const detail = h("div", { class: "detail", "aria-live": "off" });
    const notice = h("p", { class: "notice", hidden: true }, "Click the timeline or hold Ctrl to zoom with the wheel.");
    const button = (name, text, action) => h("button", { type: "button", class: "icon", "aria-label": name, title: name, onclick: action }, text);
    const timeline = new Timeline(trace, overview, canvas);
    let found = null;
    let timer = 0;

    const resting = () => h("p", { class: "muted" },
      "Click a span, or focus the timeline and use the arrow keys. Drag to pan, Shift-drag to mark a range, press ? for all keys.");
    detail.append(resting());

    function seek(direction) {
      if (!found || found.rows.length === 0) return;
      timeline.select(Search.step(found, timeline.selected, direction), { reveal: true });
    }
    function apply(next) {
      found = next;
      timeline.match(found ? found.matching : null);
      onSearch(input.value);
      result.textContent = !found ? "" : found.rows.length === 0 ? "No span has this name"
        : `${Format.plural(found.rows.length, "match", "matches")}, ${Format.time(found.time)}`;
      previous.disabled = following.disabled = !found || found.rows.length === 0;
    }
    const previous = button("Previous match", "‹", () => seek(-1));
    const following = button("Next match", "›", () => seek(1));

    input.addEventListener("input", () => apply(Search.find(trace, input.value)));
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") {
        event.preventDefault();
        seek(event.shiftKey ? -1 : 1);
      } else if (event.key === "Escape") {
        input.value = "";
        apply(null);
        canvas.focus({ preventScroll: true });
      }
    });

    timeline.onSelect = (row) => {
      detail.replaceChildren(...(row < 0 ? [resting()] : Detail.span(timeline, row, showKernel)));
      if (row >= 0) Dom.announce(Detail.sentence(trace, row));
    };
    timeline.onRange = (range) => detail.replaceChildren(...Detail.range(timeline, range));
    Pointers.attach(
      timeline,
      (event, hit) => Dom.tooltip.show(event.clientX, event.clientY, Trace.string(trace, trace.spans.name[hit.row]), [
        ["kind", Trace.KIND_NAMES[Trace.KINDS[trace.spans.kind[hit.row]]]],
        ...Detail.lines(trace, hit.row),
        hit.more > 0 ? ["in this pixel", `${Format.count(hit.more)} more: zoom in`] : null,
      ]),
      () => {
        notice.hidden = false;
        clearTimeout(timer);
        timer = setTimeout(() => (notice.hidden = true), 1600);
      },
    );
    Keyboard.timeline(timeline, { seek, search: input });

    host.replaceChildren(
      h("div", { class: "tools" },
        h("div", { class: "find", role: "search" }, input, previous, following, result),
        legend(trace),
        h("div", { class: "buttons" },
          button("Zoom out", "−", () => timeline.zoom(1.6)), button("Zoom in", "+", () => timeline.zoom(1 / 1.6)),
          h("button", { type: "button", class: "quiet", onclick: () => timeline.fit() }, "Whole run"))),
      h("div", { class: "stage" }, overview, timeline.surface.box, notice),
      h("p", { class: "sr-only", id: "timeline-keys" }, "Arrow keys walk from span to span, plus and minus zoom, Enter zooms to the span, question mark lists all keys. Tables follow below."),
      timeline.contentHeight > Surface.TALLEST ? h("p", { class: "paper-only" }, "Only the upper tracks are on paper.") : "",
      detail, alternative(timeline));
    apply(null);
    return {
      timeline,
      seek,
      // Marks the launches of kernels with one name.
      showKernels(kernels) {
        const [first] = kernels;
        input.value = Trace.string(trace, trace.kernels.name[first]);
        apply(Search.ofKernels(trace, kernels));
      },
    };
  }

  return { render };
})();
