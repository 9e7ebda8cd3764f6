"use strict";
// A canvas that is as sharp as the screen, follows its box, and draws at most once per frame.
class Surface {
  constructor(canvas, draw) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.draw = draw;
    this.pending = 0;
    this.width = 0;
    this.height = 0;
    // The observer reports once at its start, which makes the first drawing.
    this.observer = new ResizeObserver(() => this.paint());
    this.observer.observe(canvas);
    // Synchronous, so that a change of colours for printing is on the canvas before the page is printed.
    this.repaint = () => this.paint();
    Theme.listeners.add(this.repaint);
    Surface.all.add(this);
  }

  redraw() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => this.paint());
  }

  paint() {
    cancelAnimationFrame(this.pending);
    this.pending = 0;
    this.resize?.();
    const seen = this.canvas.getBoundingClientRect();
    if (seen.width === 0 || seen.height === 0) return;
    // On paper the canvas is a picture that keeps its proportions, drawn as wide as a page is.
    const box = Surface.paper > 0 ? { width: Surface.paper, height: Number.parseFloat(this.canvas.style.height) } : seen;
    const ratio = Math.max(1, devicePixelRatio || 1);
    const width = Math.round(box.width * ratio);
    const height = Math.round(box.height * ratio);
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    this.width = box.width;
    this.height = box.height;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.clearRect(0, 0, box.width, box.height);
    this.draw(this.context, box.width, box.height);
  }

  // A picture that may be taller than any canvas: the canvas is as tall as its window and stays in it while the space behind scrolls.
  // `draw` gets a context in which the whole picture has its place.
  static scrolled(canvas, height, draw) {
    const space = Dom.h("div", { class: "space" }, canvas);
    const box = Dom.h("div", { class: "scrolled" }, space);
    const surface = new Surface(canvas, (context, width) => {
      context.save();
      context.translate(0, -canvas.offsetTop);
      draw(context, width);
      context.restore();
    });
    surface.resize = () => {
      space.style.height = `${height}px`;
      canvas.style.height = `${Math.min(height, Surface.paper > 0 ? Surface.TALLEST : Surface.WINDOW)}px`;
    };
    surface.resize();
    // What of the picture the canvas shows.
    surface.seen = () => ({ top: canvas.offsetTop, bottom: canvas.offsetTop + surface.height });
    surface.reveal = (top, size) => {
      if (top < box.scrollTop || top + size > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 2;
    };
    box.addEventListener("scroll", () => surface.redraw());
    surface.box = box;
    return surface;
  }

  // Lets go of the canvases of the trace before.
  static reset() {
    for (const surface of Surface.all) {
      surface.observer.disconnect();
      cancelAnimationFrame(surface.pending);
      Theme.listeners.delete(surface.repaint);
    }
    Surface.all.clear();
  }
}
Surface.all = new Set();
Surface.paper = 0;
// Of a scrolled picture, on the screen and on paper.
Surface.WINDOW = 640;
Surface.TALLEST = 12_000;
Surface.FONT = '11px Inter, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
