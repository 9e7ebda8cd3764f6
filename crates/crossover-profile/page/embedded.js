"use strict";
// The text of a trace inside the page: as it is, or packed with gzip and written in base64 where it is long.
const Embedded = (() => {
  async function unpack(text) {
    if (typeof DecompressionStream === "undefined") {
      throw new TraceError("This browser is too old to unpack the trace inside the page. Drop the trace file itself here, or use a newer browser.");
    }
    try {
      const letters = atob(text);
      const bytes = new Uint8Array(letters.length);
      for (let at = 0; at < letters.length; at += 1) bytes[at] = letters.charCodeAt(at);
      return await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
    } catch {
      throw new TraceError("The page is damaged: the trace inside it does not unpack. It may have been cut off or changed on its way.");
    }
  }

  const text = (element) => (element.type === "application/gzip" ? unpack(element.textContent) : Promise.resolve(element.textContent));

  return { text };
})();
