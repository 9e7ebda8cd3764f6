"use strict";
// Every key in one place. Letters act anywhere except while writing; arrows belong to the picture that has the focus.
const Keyboard = (() => {
  const KEYS = [
    ["Anywhere", [
      [["/"], "find spans"], [["n"], "next match"], [["Shift", "n"], "match before"], [["t"], "go to the timeline"], [["k"], "go to the kernels"],
      [["o"], "open a trace"], [["?"], "these keys"],
    ]],
    ["In the timeline", [
      [["←"], "span before"], [["→"], "next span"], [["↑"], "lane above"], [["↓"], "lane below"],
      [["+"], "closer (also w)"], [["−"], "further (also s)"], [["Shift", "←"], "earlier (also a)"], [["Shift", "→"], "later (also d)"],
      [["Enter"], "zoom to the span"], [["p"], "enclosing span"], [["0"], "whole run"], [["Esc"], "let go"],
    ]],
    ["In the flame graph", [[["←"], "neighbour"], [["↑"], "outwards"], [["↓"], "inwards"], [["Enter"], "zoom"], [["Esc"], "whole run"]]],
  ];

  const writing = (target) => target.closest?.("input, textarea, select, [contenteditable]") !== null;
  const plain = (event) => !event.ctrlKey && !event.metaKey && !event.altKey;

  function help() {
    const { h } = Dom;
    Dom.id("keys-list").replaceChildren(...KEYS.map(([place, keys]) =>
      h("div", {}, h("h3", {}, place), h("dl", {}, keys.map(([press, does]) => [h("dt", {}, press.map((key) => h("kbd", {}, key))), h("dd", {}, does)])))));
    Dom.id("keys").showModal();
  }

  function global(actions) {
    document.addEventListener("keydown", (event) => {
      if (!plain(event) || writing(event.target) || Dom.id("keys").open) return;
      const act = { "/": actions.search, n: () => actions.seek(1), N: () => actions.seek(-1), t: actions.timeline, k: actions.kernels, o: actions.open, "?": help }[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    });
    Dom.id("help").addEventListener("click", help);
  }

  // The span to go to from the selected one: along its lane, or to the lane above or below at about the same time.
  function neighbour(timeline, key) {
    const { spans } = timeline.trace;
    const lanes = timeline.tracks.flatMap((track) => track.lanes.map((lane) => ({ lane, track })));
    if (lanes.length === 0) return -1;
    const centre = (timeline.view.from + timeline.view.to) / 2;
    if (timeline.selected < 0) {
      const { lane } = lanes[0];
      return lane.row[Math.max(0, Lanes.at(lane, centre, Infinity))];
    }
    const row = timeline.selected;
    let depth = timeline.depths[row];
    const place = lanes.findIndex(({ track }) => track.index === spans.track[row]) + depth;
    const { lane } = lanes[place];
    const index = Math.max(0, Intervals.above(lane.row, row) - 1);
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const next = index + (key === "ArrowRight" ? 1 : -1);
      return next >= 0 && next < lane.row.length ? lane.row[next] : row;
    }
    const other = lanes[place + (key === "ArrowDown" ? 1 : -1)];
    if (!other) return row;
    depth = Lanes.at(other.lane, spans.start[row] + Math.min(spans.duration[row], timeline.pixel) / 2, Infinity);
    return depth < 0 ? row : other.lane.row[depth];
  }

  function timeline(timeline) {
    const far = () => timeline.plot * 0.2;
    timeline.canvas.addEventListener("keydown", (event) => {
      if (!plain(event)) return;
      const { key, shiftKey } = event;
      const pan = { a: -1, A: -1, d: 1, D: 1, ...(shiftKey ? { ArrowLeft: -1, ArrowRight: 1 } : {}) }[key];
      if (pan) timeline.pan(pan * far());
      else if (key.startsWith("Arrow")) {
        const row = neighbour(timeline, key);
        if (row >= 0) timeline.select(row, { reveal: true });
      } else if (key === "+" || key === "=" || key === "w") timeline.zoom(1 / 1.5);
      else if (key === "-" || key === "_" || key === "s") timeline.zoom(1.5);
      else if (key === "0" || key === "Home") timeline.fit();
      else if (key === "Enter" && timeline.selected >= 0) timeline.fitSpan(timeline.selected);
      else if (key === "p" && timeline.selected >= 0) {
        const parent = timeline.trace.spans.parent[timeline.selected];
        if (parent >= 0) timeline.select(parent, { reveal: true });
      } else if (key === "Escape") timeline.select(-1);
      else return;
      event.preventDefault();
    });
  }

  function flame(flame) {
    flame.canvas.addEventListener("keydown", (event) => {
      if (!plain(event)) return;
      if (event.key.startsWith("Arrow")) flame.step(event.key);
      else if (event.key === "Enter") flame.zoom(flame.current);
      else if (event.key === "Escape" || event.key === "0") flame.zoom(0);
      else return;
      event.preventDefault();
    });
  }

  return { global, timeline, flame };
})();
