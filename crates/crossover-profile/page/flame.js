"use strict";
// The flame graph: where time went by scope, merged over the run. Click a bar to see it in full width.
class Flame {
  static BAR = 20;

  constructor(trace, canvas, status) {
    this.tree = Stacks.build(trace);
    this.canvas = canvas;
    this.status = status;
    this.focus = 0;
    this.current = 0;
    this.hovered = -1;
    this.wanted = "";
    this.surface = Surface.scrolled(canvas, (this.tree.deepest + 1) * Flame.BAR + 2, (context, width) => this.draw(context, width));
    this.listen();
    this.say();
  }

  box(at, width = this.surface.width) {
    const { left, total, depth } = this.tree;
    const scale = width / Math.max(1, total[this.focus]);
    return { x: (left[at] - left[this.focus]) * scale, wide: total[at] * scale, y: depth[at] * Flame.BAR };
  }

  draw(context, width) {
    const { tree } = this;
    this.canvas.dataset.focus = tree.name[this.focus];
    this.canvas.dataset.current = tree.name[this.current];
    context.font = Surface.FONT;
    context.textBaseline = "middle";
    const ancestors = new Set();
    for (let at = this.focus; at >= 0; at = tree.parent[at]) ancestors.add(at);
    const { top, bottom } = this.surface.seen();
    const open = [0];
    while (open.length > 0) {
      const at = open.pop();
      const above = ancestors.has(at) && at !== this.focus;
      const box = above ? { x: 0, wide: width, y: tree.depth[at] * Flame.BAR } : this.box(at, width);
      if (box.wide < 0.5 || box.x > width || box.x + box.wide < 0) continue;
      if (box.y + Flame.BAR > top && box.y < bottom) this.bar(context, at, box, above);
      for (const child of tree.children[at]) if (!above || ancestors.has(child)) open.push(child);
    }
  }

  bar(context, at, box, above) {
    const colour = this.tree.colour[at];
    const left = Math.max(0, box.x);
    const right = Math.min(this.surface.width, box.x + box.wide);
    const found = this.wanted === "" || this.tree.name[at].toLowerCase().includes(this.wanted);
    context.globalAlpha = (above ? 0.45 : 1) * (found ? 1 : 0.2);
    context.fillStyle = Theme.colour(at === 0 ? "well" : colour);
    context.fillRect(left, box.y, Math.max(0.5, right - left - 1), Flame.BAR - 1);
    context.globalAlpha = found ? 1 : 0.35;
    if (right - left > 30) {
      const name = at === 0 ? "whole run" : this.tree.name[at];
      const room = right - left - 12;
      const wide = context.measureText(name).width;
      const shown = wide <= room ? name : `${name.slice(0, Math.max(1, Math.floor((name.length * (room - 6)) / wide)))}…`;
      context.fillStyle = Theme.colour(at === 0 || above ? "ink" : `on-${colour}`);
      context.fillText(shown, left + 6, box.y + Flame.BAR / 2);
      const time = Format.time(this.tree.total[at]);
      if (wide + 90 < room) {
        context.textAlign = "right";
        context.fillText(time, right - 7, box.y + Flame.BAR / 2);
        context.textAlign = "left";
      }
    }
    context.globalAlpha = 1;
    if (at === this.hovered || (at === this.current && document.activeElement === this.canvas)) {
      context.strokeStyle = Theme.colour("ink");
      context.lineWidth = 2;
      context.strokeRect(left + 1, box.y + 1, Math.max(2, right - left - 3), Flame.BAR - 3);
    }
  }

  hit(x, y) {
    const { tree } = this;
    const depth = Math.floor(y / Flame.BAR);
    let at = this.focus;
    while (tree.depth[at] > depth) at = tree.parent[at];
    while (tree.depth[at] < depth) {
      const child = tree.children[at].find((one) => {
        const box = this.box(one);
        return x >= box.x && x < box.x + box.wide;
      });
      if (child === undefined) return -1;
      at = child;
    }
    return at;
  }

  go(at) {
    this.current = at;
    this.surface.reveal(this.tree.depth[at] * Flame.BAR, Flame.BAR);
    this.surface.redraw();
    this.say();
    Dom.announce(this.sentence(at));
  }

  zoom(at) {
    this.focus = at;
    this.go(at);
  }

  sentence(at) {
    const { tree } = this;
    return `${tree.name[at]}: ${Format.time(tree.total[at])}, ${Format.percent(tree.total[at] / Math.max(1, tree.total[0]))} of all, ${Format.plural(tree.count[at], "time")}`;
  }

  say() {
    const path = Stacks.path(this.tree, this.focus);
    this.status.textContent = path.length === 0 ? "Click a bar to see it in full width." : path.map((name) => Format.cut(name, 60)).join(" › ");
  }

  listen() {
    const { canvas, tree } = this;
    const at = (event) => {
      const box = canvas.getBoundingClientRect();
      return this.hit(event.clientX - box.left, event.clientY - box.top + this.surface.seen().top);
    };
    canvas.addEventListener("pointermove", (event) => {
      const node = at(event);
      if (node !== this.hovered) {
        this.hovered = node;
        this.surface.redraw();
      }
      if (node < 0) return Dom.tooltip.hide();
      return Dom.tooltip.show(event.clientX, event.clientY, tree.name[node], [
        ["total", Format.time(tree.total[node])],
        ["of all", Format.percent(tree.total[node] / Math.max(1, tree.total[0]))],
        node > 0 ? ["itself", Format.time(tree.self[node])] : null,
        node > 0 ? ["times", Format.count(tree.count[node])] : null,
      ]);
    });
    canvas.addEventListener("pointerleave", () => {
      this.hovered = -1;
      this.surface.redraw();
      Dom.tooltip.hide();
    });
    canvas.addEventListener("click", (event) => {
      const node = at(event);
      if (node >= 0) this.zoom(node);
    });
    canvas.addEventListener("focus", () => this.surface.redraw());
    canvas.addEventListener("blur", () => this.surface.redraw());
  }

  // What is searched in the timeline stands out here too.
  mark(text) {
    this.wanted = text.trim().toLowerCase();
    this.canvas.dataset.wanted = this.wanted;
    this.surface.redraw();
  }

  // Arrow keys walk the tree.
  step(key) {
    const { tree, current } = this;
    const siblings = current > 0 ? tree.children[tree.parent[current]] : [0];
    const place = siblings.indexOf(current);
    const next = {
      ArrowUp: tree.parent[current], ArrowDown: tree.children[current][0],
      ArrowLeft: siblings[place - 1], ArrowRight: siblings[place + 1],
    }[key];
    if (next === undefined || next < 0) return;
    if (key === "ArrowUp" && tree.depth[next] < tree.depth[this.focus]) this.focus = next;
    this.go(next);
  }

  static render(trace, host) {
    const { h } = Dom;
    if (trace.spans.count === 0) {
      host.replaceChildren(Dom.empty("No spans", "Nothing was recorded, so there is nothing to add up."));
      return null;
    }
    const canvas = h("canvas", { class: "flame", tabindex: 0, role: "application", "aria-roledescription": "flame graph",
      "aria-label": "Flame graph: time by scope. Arrow keys walk, Enter zooms, Escape shows all." });
    const status = h("p", { class: "muted path" });
    const flame = new Flame(trace, canvas, status);
    Keyboard.flame(flame);
    const box = h("details", { class: "alternative" }, h("summary", {}, "Flame graph as a table: paths by their own time"));
    box.addEventListener("toggle", () => box.append(Flame.table(flame.tree).element), { once: true });
    host.replaceChildren(
      flame.surface.box,
      h("div", { class: "flame-foot" }, status, h("button", { type: "button", class: "quiet", onclick: () => flame.zoom(0) }, "Whole run")),
      box);
    return flame;
  }

  static table(tree) {
    const rows = [];
    for (let at = 1; at < tree.name.length; at += 1) {
      const path = Stacks.path(tree, at).map((name) => Format.cut(name, 60)).join(" › ");
      rows.push({ id: String(at), path, self: tree.self[at], total: tree.total[at], count: tree.count[at] });
    }
    return new Table({
      caption: "Paths of scopes", rows, sort: { key: "self", descending: true }, most: 40,
      columns: [
        { key: "path", label: "Path", value: (row) => row.path, cell: (row) => row.path, wide: true },
        { key: "self", label: "Itself", numeric: true, value: (row) => row.self, cell: (row) => Format.time(row.self) },
        { key: "total", label: "Total", numeric: true, value: (row) => row.total, cell: (row) => Format.time(row.total) },
        { key: "count", label: "Times", numeric: true, value: (row) => row.count, cell: (row) => Format.count(row.count) },
      ],
    });
  }
}
