"use strict";
// Puts the page together: reads the embedded traces, draws the sections, and joins what one says to the others.
const App = (() => {
  const { h, id } = Dom;
  const traces = [];
  let shown = 0;
  let panel = null;
  let kernels = null;
  let flame = null;

  const section = (name) => id(name).querySelector(".body");

  function go(name) {
    id(name).scrollIntoView({ block: "start" });
  }

  function showKernel(kernel) {
    go("kernels");
    const shown = kernels?.show(kernel);
    if (shown) panel.showKernels(shown);
  }

  function showInTimeline(launched) {
    panel.showKernels(launched);
    go("timeline");
    id("timeline-canvas").focus({ preventScroll: true });
  }

  function showSpan(row) {
    panel.timeline.select(row, { reveal: true });
    go("timeline");
  }

  function draw() {
    const trace = traces[shown];
    Surface.reset();
    flame = null;
    document.title = `${Format.cut(trace.name, 200)} · Crossover`;
    id("start").hidden = true;
    id("report").hidden = false;
    id("sections").hidden = false;
    Summary.render(trace, section("summary"));
    Advice.render(trace, section("advice"), id("advice-top"), showKernel);
    panel = TimelinePanel.render(trace, section("timeline"), showKernel, (text) => flame?.mark(text));
    flame = Flame.render(trace, section("flame"));
    kernels = Kernels.render(trace, section("kernels"), showInTimeline);
    Memory.render(trace, section("memory"));
    Transfers.render(trace, section("transfers"), showSpan);
    Decisions.render(trace, section("placement"), showSpan);
    Compare.render(traces, section("compare"), () => choose(1));
    runs();
  }

  // Which of two runs the sections show.
  function runs() {
    const box = id("runs");
    box.hidden = traces.length < 2;
    box.replaceChildren(...traces.map((trace, index) => h("button", {
      type: "button", "aria-pressed": String(index === shown), title: trace.name,
      onclick: () => {
        shown = index;
        draw();
        Dom.announce(`Showing run ${"AB"[index]}: ${trace.name}`);
      },
    }, "AB"[index])));
  }

  function refuse(name, why) {
    const note = h("div", {},
      h("p", {}, h("strong", {}, name ? `${Format.cut(name, 120)} was not opened. ` : "The trace was not opened. "), why),
      h("button", { type: "button", class: "quiet", onclick: () => note.remove() }, "Close"));
    id("message").append(note);
  }

  // Also what nobody foresaw is said: a page that does nothing explains nothing.
  const reason = (error) => (error instanceof TraceError ? error.message
    : `The page failed to draw it: ${error?.message ?? error}. The trace may be damaged in a way that the page does not know, or this is a mistake of the page.`);

  const clear = () => id("message").replaceChildren();

  function nothing() {
    for (const name of ["report", "sections", "runs"]) id(name).hidden = true;
    id("start").hidden = false;
  }

  // Opens a trace; where that fails, what was open stays.
  function load(text, name, slot) {
    const before = [...traces];
    try {
      const trace = Trace.parse(text);
      if (slot === 0) traces.length = 0;
      // A second file joins a first, if there is one.
      traces[Math.min(slot, traces.length, 1)] = trace;
      shown = 0;
      draw();
    } catch (error) {
      refuse(name, reason(error));
      if (!(error instanceof TraceError)) {
        traces.splice(0, traces.length, ...before);
        shown = 0;
        if (traces.length > 0) draw();
        else nothing();
      }
      return false;
    }
    if (name) Dom.announce(`${Format.cut(name, 120)} is open`);
    if (traces.length === 2 && name) go("compare");
    return true;
  }

  const choose = (slot) => Drop.choose(slot, load, refuse, clear);

  // The link of the section in view is marked.
  function spy() {
    const links = new Map([...document.querySelectorAll("#sections a")].map((link) => [link.hash.slice(1), link]));
    const seen = new Map();
    const observer = new IntersectionObserver((entries) => {
      for (const entry of entries) seen.set(entry.target.id, entry.isIntersecting);
      const first = [...links.keys()].find((name) => seen.get(name));
      links.forEach((link, name) => (name === first ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current")));
    }, { rootMargin: "-30% 0px -60% 0px" });
    for (const name of links.keys()) observer.observe(id(name));
  }

  // The traces inside the page; two are drawn once, when both are there.
  async function open() {
    const elements = [...document.querySelectorAll("script.trace")].slice(0, 2);
    for (const [index, element] of elements.entries()) {
      try {
        traces[index] = Trace.parse(await Embedded.text(element));
      } catch (error) {
        refuse(elements.length === 2 ? `Run ${"AB"[index]}` : "", reason(error));
        break;
      }
      element.remove();
    }
    if (traces.length === 0) return;
    try {
      draw();
    } catch (error) {
      refuse("", reason(error));
      traces.length = 0;
      nothing();
    }
  }

  async function start() {
    Theme.start();
    // Pictures are drawn later, when nobody waits for them any more.
    addEventListener("error", (event) => event.error && refuse("", reason(event.error)));
    addEventListener("unhandledrejection", (event) => refuse("", reason(event.reason)));
    Drop.start(load, refuse, clear, () => (traces.length > 0 ? 1 : 0));
    for (const button of document.querySelectorAll("[data-open]")) button.addEventListener("click", () => choose(Number(button.dataset.open)));
    Keyboard.global({
      search: () => traces.length > 0 && (go("timeline"), id("search").focus({ preventScroll: true })),
      seek: (direction) => panel?.seek(direction),
      timeline: () => traces.length > 0 && (go("timeline"), id("timeline-canvas").focus({ preventScroll: true })),
      kernels: () => traces.length > 0 && (go("kernels"), id("kernel-filter")?.focus({ preventScroll: true })),
      open: () => choose(0),
    });
    await open();
    if (traces.length === 0) id("start").hidden = false;
    spy();
    // After the first frame is on the screen the page takes input.
    requestAnimationFrame(() => setTimeout(() => performance.mark("crossover-interactive")));
  }

  return { start, traces, get panel() { return panel; } };
})();

App.start();
