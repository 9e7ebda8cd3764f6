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
    document.title = `${trace.name} · Crossover`;
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
    const box = id("message");
    box.replaceChildren(
      h("div", {}, h("strong", {}, name ? `${name} was not opened. ` : "The trace was not opened. "), why),
      h("button", { type: "button", class: "quiet", onclick: () => box.replaceChildren() }, "Close"));
  }

  function load(text, name, slot) {
    let trace = null;
    try {
      trace = Trace.parse(text);
    } catch (error) {
      if (!(error instanceof TraceError)) throw error;
      refuse(name, error.message);
      return false;
    }
    id("message").replaceChildren();
    if (slot === 0) traces.length = 0;
    traces[slot === 0 ? 0 : 1] = trace;
    shown = 0;
    draw();
    if (name) Dom.announce(`${name} is open`);
    if (traces.length === 2 && name) go("compare");
    return true;
  }

  const choose = (slot) => Drop.choose(slot, load, refuse);

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
        if (!(error instanceof TraceError)) throw error;
        refuse(elements.length === 2 ? `Run ${"AB"[index]}` : "", error.message);
        break;
      }
      element.remove();
    }
    if (traces.length > 0) draw();
  }

  async function start() {
    Theme.start();
    Drop.start(load, refuse, () => (traces.length > 0 ? 1 : 0));
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
