"use strict";
// Light and dark: what the system asks for, unless the reader chose. Canvases ask here for the colours of the style sheet.
const Theme = (() => {
  const KEY = "crossover-theme";
  const CHOICES = ["system", "light", "dark"];
  const listeners = new Set();
  let resolved = new Map();
  let choice = "system";

  function colour(name) {
    if (!resolved.has(name)) {
      const probe = Dom.id("probe");
      probe.style.color = `var(--${name})`;
      resolved.set(name, getComputedStyle(probe).color);
    }
    return resolved.get(name);
  }

  function changed() {
    resolved = new Map();
    for (const listener of listeners) listener();
  }

  // The style sheet holds both palettes in light-dark(); color-scheme decides.
  function apply(scheme) {
    document.documentElement.style.colorScheme = scheme === "system" ? "light dark" : scheme;
    document.documentElement.dataset.theme = scheme;
    changed();
  }

  function choose(next) {
    choice = next;
    const button = Dom.id("theme");
    button.dataset.choice = next;
    button.setAttribute("aria-label", `Colours: ${next}. Change`);
    button.title = `Colours: ${next}`;
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // A page opened from a file may have no storage; the choice then lasts as long as the page.
    }
    apply(next);
  }

  function start() {
    let saved = null;
    try {
      saved = localStorage.getItem(KEY);
    } catch {
      saved = null;
    }
    choose(CHOICES.includes(saved) ? saved : "system");
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
    Dom.id("theme").addEventListener("click", () => {
      choose(CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length]);
      Dom.announce(`Colours: ${choice}`);
    });
    // Paper is white, whatever the screen is.
    addEventListener("beforeprint", () => {
      Surface.paper = 760;
      apply("light");
    });
    addEventListener("afterprint", () => {
      Surface.paper = 0;
      apply(choice);
    });
  }

  return { colour, start, listeners };
})();
