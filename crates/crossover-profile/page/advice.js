"use strict";
// What to look at first, in words, with the evidence.
const Advice = (() => {
  const { h } = Dom;

  function item(trace, advice, index, show) {
    const kernel = Number.isInteger(advice.kernel) && advice.kernel >= 0 && advice.kernel < trace.kernels.count ? advice.kernel : -1;
    return h("li", {},
      h("div", { class: "advice-share" },
        Format.known(advice.share) ? [h("b", {}, Format.percent(advice.share)), h("span", { class: "meter", style: `--share: ${Math.min(1, advice.share) * 100}%` })] : h("b", {}, `${index + 1}`)),
      h("div", {},
        h("h3", {}, String(advice.title ?? "")),
        h("p", { class: "evidence" }, String(advice.evidence ?? "")),
        h("p", {}, String(advice.suggestion ?? "")),
        kernel >= 0 ? h("button", { type: "button", class: "link", onclick: () => show(kernel) }, "Show this kernel") : ""));
  }

  function render(trace, host, top, show) {
    const sorted = [...trace.advice].sort((one, other) => (other.share ?? 0) - (one.share ?? 0));
    if (sorted.length === 0) {
      host.replaceChildren(Dom.empty("No suggestions", "The recorder found nothing that stands out in this run."));
      top.replaceChildren();
      return;
    }
    host.replaceChildren(h("ol", { class: "advice" }, sorted.map((advice, index) => item(trace, advice, index, show))));
    const first = sorted[0];
    top.replaceChildren(
      h("p", { class: "eyebrow" }, "Look here first"),
      h("p", { class: "top-title" }, Format.known(first.share) ? h("b", {}, Format.percent(first.share)) : "", ` ${first.title ?? ""}`),
      h("p", {}, String(first.suggestion ?? "")),
      h("a", { href: "#advice" }, sorted.length === 1 ? "The evidence" : `All ${Format.count(sorted.length)} suggestions`));
  }

  return { render };
})();
