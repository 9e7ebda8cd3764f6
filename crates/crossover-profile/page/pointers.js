"use strict";
// Mouse, wheel and fingers on the timeline: drag pans, Shift and drag marks a range, wheel and pinch zoom, a click selects.
const Pointers = (() => {
  const CLICK = 4;

  function attach(timeline, describe, hint) {
    const { canvas } = timeline;
    const fingers = new Map();
    let drag = null;
    const local = (event) => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top + timeline.surface.seen().top };
    };

    function wheel(event) {
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
      const zooming = event.ctrlKey || event.metaKey;
      // A page must scroll past its timeline: a plain wheel zooms only after the reader went into it.
      if (!zooming && !sideways && document.activeElement !== canvas) {
        hint();
        return;
      }
      event.preventDefault();
      if (sideways && !zooming) timeline.pan(event.deltaX || event.deltaY);
      else {
        // A pinch on a trackpad comes as small steps with Ctrl.
        const speed = zooming && Math.abs(event.deltaY) < 40 ? 0.01 : 0.0018;
        timeline.zoom(Math.exp(event.deltaY * speed), local(event).x);
      }
    }

    function down(event) {
      if (event.button !== 0) return;
      canvas.focus({ preventScroll: true });
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, local(event));
      const point = local(event);
      drag = { ...point, last: point.x, moved: false, marking: event.shiftKey, time: timeline.time(point.x) };
    }

    function pinch(event) {
      const before = [...fingers.values()];
      fingers.set(event.pointerId, local(event));
      const after = [...fingers.values()];
      const distance = (points) => Math.max(8, Math.abs(points[0].x - points[1].x));
      timeline.zoom(distance(before) / distance(after), (after[0].x + after[1].x) / 2);
      timeline.pan((before[0].x + before[1].x - after[0].x - after[1].x) / 2);
    }

    function move(event) {
      if (fingers.size === 2 && fingers.has(event.pointerId)) {
        drag = null;
        pinch(event);
        return;
      }
      const point = local(event);
      if (!drag) {
        hover(event, point);
        return;
      }
      fingers.set(event.pointerId, point);
      if (Math.abs(point.x - drag.x) > CLICK) drag.moved = true;
      if (!drag.moved) return;
      Dom.tooltip.hide();
      if (drag.marking) {
        const now = Math.min(Math.max(timeline.time(point.x), timeline.view.from), timeline.view.to);
        timeline.range = { from: Math.min(drag.time, now), to: Math.max(drag.time, now) };
        timeline.redraw();
      } else {
        timeline.pan(drag.last - point.x);
        drag.last = point.x;
      }
    }

    function up(event) {
      fingers.delete(event.pointerId);
      if (!drag) return;
      const done = drag;
      drag = null;
      if (done.moved) {
        if (done.marking && timeline.range) timeline.onRange(timeline.range);
        return;
      }
      const found = timeline.hit(done.x, done.y);
      timeline.select(found ? found.row : -1);
    }

    function hover(event, point) {
      const found = timeline.hit(point.x, point.y);
      const row = found ? found.row : -1;
      if (row !== timeline.hovered) {
        timeline.hovered = row;
        timeline.surface.redraw();
      }
      if (!found) Dom.tooltip.hide();
      else describe(event, found);
    }

    canvas.addEventListener("wheel", wheel, { passive: false });
    canvas.addEventListener("pointerdown", down);
    canvas.addEventListener("pointermove", move);
    canvas.addEventListener("pointerup", up);
    canvas.addEventListener("pointercancel", (event) => {
      fingers.delete(event.pointerId);
      drag = null;
    });
    canvas.addEventListener("pointerleave", () => {
      timeline.hovered = -1;
      timeline.surface.redraw();
      Dom.tooltip.hide();
    });
    canvas.addEventListener("dblclick", (event) => {
      const point = local(event);
      const found = timeline.hit(point.x, point.y);
      if (found) timeline.fitSpan(found.row);
    });
    overview(timeline);
  }

  // In the small picture: click or drag moves the visible range there.
  function overview(timeline) {
    const canvas = timeline.overviewCanvas;
    const centre = (event) => {
      const x = event.clientX - canvas.getBoundingClientRect().left - timeline.gutter;
      const middle = (x / timeline.plot) * timeline.length;
      const half = (timeline.view.to - timeline.view.from) / 2;
      timeline.show(middle - half, middle + half);
    };
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      centre(event);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (canvas.hasPointerCapture(event.pointerId)) centre(event);
    });
  }

  return { attach };
})();
