"use strict";
// The timeline: what ran when, on every track. This class owns the visible range and the selection and draws both canvases;
// pointers.js and keyboard.js move them, detail.js explains the selection.
class Timeline {
  static LANE = 19;
  static GAP = 12;
  static OVERVIEW = 58;
  // No zoom beyond: the clock ticks in nanoseconds.
  static CLOSEST = 40;

  constructor(trace, overview, canvas) {
    this.trace = trace;
    const { tracks, depths } = Lanes.build(trace);
    this.tracks = tracks.filter((track) => track.lanes.length > 0);
    this.depths = depths;
    this.activity = Stats.activity(trace).filter(({ set }) => set.total > 0);
    const last = trace.spans.count > 0 ? trace.spans.end.reduce((most, end) => Math.max(most, end), 0) : 0;
    this.length = Math.max(trace.wall, last, 1);
    this.view = { from: 0, to: this.length };
    this.selected = -1;
    this.hovered = -1;
    this.range = null;
    this.matching = null;
    this.onSelect = () => {};
    this.onRange = () => {};
    this.widths = new Map();
    this.canvas = canvas;
    this.overviewCanvas = overview;
    let y = 6;
    for (const track of this.tracks) {
      track.top = y;
      y += track.lanes.length * Timeline.LANE + Timeline.GAP;
    }
    this.contentHeight = Math.max(y, 40);
    this.surface = Surface.scrolled(canvas, this.contentHeight, (context, width) => this.draw(context, width));
    this.overview = new Surface(overview, (context, width) => this.drawOverview(context, width));
  }

  get gutter() {
    return this.surface.width < 640 ? 76 : 168;
  }

  get plot() {
    return Math.max(1, this.surface.width - this.gutter);
  }

  get pixel() {
    return (this.view.to - this.view.from) / this.plot;
  }

  x(time) {
    return this.gutter + (time - this.view.from) / this.pixel;
  }

  time(x) {
    return this.view.from + (x - this.gutter) * this.pixel;
  }

  show(from, to) {
    const width = Math.min(this.length, Math.max(Timeline.CLOSEST, to - from));
    const start = Math.min(Math.max(0, from), this.length - width);
    this.view = { from: start, to: start + width };
    this.redraw();
  }

  // Zooms by a factor (below 1 is closer) and keeps the time under `x` where it is.
  zoom(factor, x = this.gutter + this.plot / 2) {
    const width = Math.min(this.length, Math.max(Timeline.CLOSEST, (this.view.to - this.view.from) * factor));
    const centre = Math.min(Math.max(this.time(x), this.view.from), this.view.to);
    const share = (centre - this.view.from) / (this.view.to - this.view.from);
    this.show(centre - share * width, centre - share * width + width);
  }

  pan(pixels) {
    const shift = pixels * this.pixel;
    this.show(this.view.from + shift, this.view.to + shift);
  }

  fit() {
    this.show(0, this.length);
  }

  fitSpan(row) {
    const { start, end, duration } = this.trace.spans;
    const margin = Math.max(duration[row] * 0.15, Timeline.CLOSEST / 2);
    this.show(start[row] - margin, end[row] + margin);
  }

  redraw() {
    this.surface.redraw();
    this.overview.redraw();
  }

  select(row, { reveal = false } = {}) {
    this.selected = row;
    this.range = null;
    if (row >= 0 && reveal) this.reveal(row);
    this.redraw();
    this.onSelect(row);
  }

  // Moves the view as little as needed for the span to be visible and at least a few pixels wide.
  reveal(row) {
    const { start, end, duration } = this.trace.spans;
    const wide = this.view.to - this.view.from;
    if (duration[row] < 3 * this.pixel) {
      const width = Math.max(duration[row] * 40, Timeline.CLOSEST);
      this.show(start[row] - width / 2, start[row] + width / 2);
    } else if (end[row] < this.view.from + wide * 0.02 || start[row] > this.view.to - wide * 0.02) {
      const middle = start[row] + Math.min(duration[row], wide) / 2;
      this.show(middle - wide / 2, middle + wide / 2);
    }
    const track = this.tracks.find((one) => one.index === this.trace.spans.track[row]);
    this.surface.reveal(track.top + this.depths[row] * Timeline.LANE, Timeline.LANE);
  }

  // Marks spans; `matching` is one byte per span, or null for all.
  match(matching) {
    this.matching = matching;
    Lanes.mark(this.tracks, matching);
    this.redraw();
  }

  // The span under a point of the canvas, and how many share its pixel.
  hit(x, y) {
    if (x < this.gutter) return null;
    for (const track of this.tracks) {
      const depth = Math.floor((y - track.top) / Timeline.LANE);
      if (depth < 0 || depth >= track.lanes.length) continue;
      const lane = track.lanes[depth];
      const time = this.time(x);
      const index = Lanes.at(lane, time, 3 * this.pixel);
      if (index < 0) return null;
      const narrow = lane.end[index] - lane.start[index] < this.pixel;
      const last = narrow ? Intervals.atLeast(lane.start, lane.start[index] + this.pixel) : index + 1;
      return { row: lane.row[index], more: Math.max(0, last - index - 1), lane, index, track };
    }
    return null;
  }

  draw(context, width) {
    const { from, to } = this.view;
    this.canvas.dataset.from = Math.round(from);
    this.canvas.dataset.to = Math.round(to);
    context.font = Surface.FONT;
    context.textBaseline = "middle";
    this.drawGrid(context);
    context.save();
    context.beginPath();
    context.rect(this.gutter, 0, this.plot, this.contentHeight);
    context.clip();
    const { top, bottom } = this.surface.seen();
    for (const track of this.tracks) {
      const first = Math.max(0, Math.floor((top - track.top) / Timeline.LANE));
      const last = Math.min(track.lanes.length, Math.ceil((bottom - track.top) / Timeline.LANE));
      for (let depth = first; depth < last; depth += 1) this.drawLane(context, track.lanes[depth], track.top + depth * Timeline.LANE);
    }
    this.drawSelection(context);
    context.restore();
    this.drawNames(context);
    if (this.tracks.length === 0) {
      context.fillStyle = Theme.colour("muted");
      context.fillText("No spans were recorded.", this.gutter + 12, 20);
    }
  }

  drawGrid(context) {
    const { values } = Axis.ticks(this.view.from, this.view.to, this.plot / 110);
    context.fillStyle = Theme.colour("grid");
    for (const value of values) context.fillRect(Math.round(this.x(value)), 0, 1, this.contentHeight);
  }

  drawLane(context, lane, y) {
    const { trace } = this;
    const height = Timeline.LANE - 2;
    const most = this.gutter + this.plot;
    const faded = (index, next) => lane.matches !== null && lane.matches[next] === lane.matches[index];
    Lanes.visit(
      lane, this.view.from, this.view.to, this.pixel,
      (index) => {
        const row = lane.row[index];
        const left = Math.max(this.gutter, this.x(lane.start[index]));
        const right = Math.min(most, this.x(lane.end[index]));
        const colour = Trace.colour(trace, row);
        context.globalAlpha = faded(index, index + 1) ? 0.16 : 1;
        context.fillStyle = Theme.colour(colour);
        // A gap of half a pixel keeps neighbours apart without hiding narrow spans.
        context.fillRect(left, y, Math.max(1, right - left - (right - left > 3 ? 0.5 : 0)), height);
        if (trace.spans.estimated[row] && right - left > 4) this.hatch(context, left, right, y, height);
        if (right - left > 28) this.label(context, row, colour, left, right, y + height / 2 + 0.5);
      },
      (index, next) => {
        // As opaque as the pixel is busy, so that a comb of short spans does not look like one long span.
        const busy = Math.min(1, (lane.before[next] - lane.before[index]) / this.pixel);
        context.globalAlpha = (0.3 + 0.7 * busy) * (faded(index, next) ? 0.16 : 1);
        context.fillStyle = Theme.colour(Trace.colour(trace, lane.row[index]));
        context.fillRect(this.x(lane.start[index]), y, 1, height);
      },
    );
    context.globalAlpha = 1;
  }

  // Lines across what was not timed.
  hatch(context, left, right, y, height) {
    context.save();
    context.beginPath();
    context.rect(left, y, right - left, height);
    context.clip();
    context.strokeStyle = Theme.colour("surface");
    context.globalAlpha *= 0.3;
    context.lineWidth = 1;
    context.beginPath();
    for (let x = left - height + ((height - left) % 5); x < right; x += 5) {
      context.moveTo(x, y + height);
      context.lineTo(x + height, y);
    }
    context.stroke();
    context.restore();
  }

  label(context, row, colour, left, right, y) {
    const text = Trace.string(this.trace, this.trace.spans.name[row]);
    if (!this.widths.has(text)) this.widths.set(text, context.measureText(text).width);
    const room = right - left - 10;
    const wide = this.widths.get(text);
    const shown = wide <= room ? text : `${text.slice(0, Math.max(1, Math.floor((text.length * (room - 6)) / wide)))}…`;
    context.fillStyle = Theme.colour(`on-${colour}`);
    context.fillText(shown, left + 5, y);
  }

  drawSelection(context) {
    if (this.range) {
      const left = this.x(this.range.from);
      const right = this.x(this.range.to);
      context.fillStyle = Theme.colour("range");
      context.fillRect(left, 0, right - left, this.contentHeight);
      context.fillStyle = Theme.colour("accent");
      context.fillRect(left, 0, 1, this.contentHeight);
      context.fillRect(right, 0, 1, this.contentHeight);
    }
    this.canvas.dataset.selected = this.selected;
    this.canvas.dataset.hovered = this.hovered;
    if (this.selected >= 0) this.drawCause(context, this.selected);
    for (const [row, width] of [[this.hovered, 1.5], [this.selected, 2]]) {
      if (row < 0) continue;
      const box = this.box(row);
      context.strokeStyle = Theme.colour("ink");
      context.lineWidth = width;
      context.strokeRect(box.left - 0.5, box.top - 0.5, Math.max(3, box.right - box.left) + 1, Timeline.LANE - 1);
    }
  }

  box(row) {
    const { spans } = this.trace;
    const track = this.tracks.find((one) => one.index === spans.track[row]);
    return { left: this.x(spans.start[row]), right: this.x(spans.end[row]), top: track.top + this.depths[row] * Timeline.LANE };
  }

  // From the host asking for a kernel to the device beginning it.
  drawCause(context, row) {
    const { spans, launches } = this.trace;
    const parent = spans.parent[row];
    if (parent < 0 || spans.track[parent] === spans.track[row]) return;
    const asked = spans.launch[row] >= 0 ? launches.queued[spans.launch[row]] : spans.start[parent];
    const from = this.box(parent);
    const to = this.box(row);
    const down = to.top > from.top;
    const x = this.x(asked);
    const y = from.top + (down ? Timeline.LANE - 2 : 0);
    const end = to.top + (down ? 0 : Timeline.LANE - 2);
    context.strokeStyle = Theme.colour("ink");
    context.lineWidth = 1.25;
    context.beginPath();
    context.moveTo(x, y);
    context.bezierCurveTo(x, (y + end) / 2, to.left, (y + end) / 2, to.left, end);
    context.stroke();
    context.beginPath();
    context.arc(x, y, 2.5, 0, 7);
    context.fillStyle = Theme.colour("ink");
    context.fill();
  }

  drawNames(context) {
    context.fillStyle = Theme.colour("surface");
    context.fillRect(0, 0, this.gutter, this.contentHeight);
    const { top, bottom } = this.surface.seen();
    for (const track of this.tracks) {
      if (track.top > bottom || track.top + 2 * Timeline.LANE < top) continue;
      const y = track.top + Timeline.LANE / 2 - 1;
      context.fillStyle = Theme.colour("line");
      context.fillRect(0, Math.round(track.top - Timeline.GAP / 2) + 0.5, this.surface.width, 0.5);
      context.fillStyle = Theme.colour("ink");
      const room = this.gutter - 14;
      // Where room is short the device's name goes first: its tracks differ in the rest.
      const device = `${this.trace.devices[track.device]?.name ?? ""} `;
      let name = this.gutter < 100 && track.name.startsWith(device) ? track.name.slice(device.length) : track.name;
      name = Format.cut(name, 60);
      while (name.length > 2 && context.measureText(name).width > room) name = `${name.slice(0, -2)}…`;
      context.fillText(name, 0, y);
      if (track.lanes.length > 1) {
        context.fillStyle = Theme.colour("muted");
        const note = track.kind === "stream" ? "stream" : track.kind === "thread" ? "thread" : String(track.kind ?? "");
        context.fillText(note, 0, y + Timeline.LANE - 3);
      }
    }
  }

  // The whole run in small: how busy each class was, the moments of events, the visible range, and the ruler of it.
  drawOverview(context, width) {
    const gutter = this.gutter;
    const scale = this.plot / this.length;
    const height = 34;
    const row = Math.min(9, (height - 4) / Math.max(1, this.activity.length));
    context.fillStyle = Theme.colour("well");
    context.fillRect(gutter, 0, this.plot, height);
    this.activity.forEach(({ colour, set }, index) => {
      context.fillStyle = Theme.colour(colour);
      for (let x = 0; x < this.plot; x += 1) {
        const busy = Intervals.covered(set, x / scale, (x + 1) / scale) * scale;
        if (busy <= 0) continue;
        context.globalAlpha = 0.2 + 0.8 * Math.min(1, busy);
        context.fillRect(gutter + x, 3 + index * row, 1, row - 1);
      }
      context.globalAlpha = 1;
    });
    const { time } = this.trace.events;
    context.fillStyle = Theme.colour("ink");
    for (const moment of time) context.fillRect(gutter + moment * scale - 0.5, 0, 1.5, 4);
    const left = gutter + this.view.from * scale;
    const right = gutter + this.view.to * scale;
    context.fillStyle = Theme.colour("veil");
    context.fillRect(gutter, 0, left - gutter, height);
    context.fillRect(right, 0, gutter + this.plot - right, height);
    context.strokeStyle = Theme.colour("accent");
    context.lineWidth = 1.5;
    context.strokeRect(left + 0.75, 0.75, Math.max(2, right - left - 1.5), height - 1.5);
    this.drawRuler(context, width, height);
  }

  drawRuler(context, width, top) {
    context.font = Surface.FONT;
    context.textBaseline = "middle";
    context.fillStyle = Theme.colour("muted");
    context.textAlign = "left";
    if (this.gutter > 100) context.fillText(`${Format.time(this.view.to - this.view.from)} shown`, 0, top + 14);
    const { values, step } = Axis.ticks(this.view.from, this.view.to, this.plot / 110);
    context.textAlign = "center";
    for (const value of values) {
      const x = this.x(value);
      const text = Axis.time(value, step);
      const half = context.measureText(text).width / 2;
      context.fillText(text, Math.min(Math.max(x, this.gutter + half), width - half), top + 14);
      context.fillRect(Math.round(x), top + 21, 1, 3);
    }
    context.textAlign = "left";
  }
}
