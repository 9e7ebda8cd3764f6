"use strict";
// Elements, the tooltip and what is said to screen readers. Text only ever enters the page as text.
const Dom = (() => {
  function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value === undefined || value === null || value === false) continue;
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
    return element;
  }

  const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes = {}, ...children) =>
    fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
  const id = (name) => document.getElementById(name);

  function announce(text) {
    // A live region speaks only when its content changes.
    const region = id("live");
    region.textContent = "";
    requestAnimationFrame(() => (region.textContent = text));
  }

  // What is missing and why, in the place where it would be.
  const empty = (title, why) => h("div", { class: "empty" }, h("p", { class: "empty-title" }, title), h("p", {}, why));

  const swatch = (colour) => h("span", { class: "swatch", style: `--swatch: var(--${colour})`, "aria-hidden": "true" });

  const tooltip = {
    // Lines of [label, value]; the first is a title.
    show(x, y, title, lines) {
      const box = id("tooltip");
      box.replaceChildren(
        h("strong", {}, Format.cut(title, 200)),
        ...lines.filter(Boolean).map(([label, value]) => h("div", {}, h("span", {}, label), h("span", {}, value))),
      );
      box.hidden = false;
      const { width, height } = box.getBoundingClientRect();
      const left = x + 14 + width > innerWidth - 8 ? x - 14 - width : x + 14;
      const top = y + 16 + height > innerHeight - 8 ? y - 12 - height : y + 16;
      box.style.left = `${Math.max(8, left)}px`;
      box.style.top = `${Math.max(8, top)}px`;
    },
    hide() {
      id("tooltip").hidden = true;
    },
  };

  return { h, svg, id, announce, empty, swatch, tooltip };
})();
