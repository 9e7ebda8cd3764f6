"use strict";
// Opens trace files: dropped anywhere on the page, or chosen. A file never leaves the browser.
const Drop = (() => {
  // Beyond this a browser's text no longer fits one string.
  const LARGEST = 500e6;

  async function read(file, take, refuse) {
    if (file.size > LARGEST) {
      refuse(file.name, `The file has ${Format.bytes(file.size)}; this page reads up to ${Format.bytes(LARGEST)}.`);
      return;
    }
    let text = "";
    try {
      text = await file.text();
    } catch (error) {
      refuse(file.name, `The browser could not read it: ${error.message}.`);
      return;
    }
    take(text, file.name);
  }

  // The chooser; `slot` says whether the file replaces what is open or joins it.
  function choose(slot, load, refuse, clear) {
    const input = Dom.id("file");
    input.value = "";
    input.onchange = () => {
      clear();
      if (input.files[0]) read(input.files[0], (text, name) => load(text, name, slot), refuse);
    };
    input.click();
  }

  function start(load, refuse, clear, slotOfDrop) {
    let depth = 0;
    const over = (shown) => document.body.classList.toggle("dropping", shown);
    const files = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
    addEventListener("dragenter", (event) => {
      if (!files(event)) return;
      depth += 1;
      over(true);
    });
    addEventListener("dragleave", () => {
      depth = Math.max(0, depth - 1);
      if (depth === 0) over(false);
    });
    addEventListener("dragover", (event) => {
      if (files(event)) event.preventDefault();
    });
    addEventListener("drop", async (event) => {
      if (!files(event)) return;
      event.preventDefault();
      depth = 0;
      over(false);
      // Two files at once are a comparison, in their order.
      const all = [...event.dataTransfer.files];
      const given = all.slice(0, 2);
      clear();
      if (all.length === 0) refuse("", "The browser handed over no file.");
      for (const file of all.slice(2)) refuse(file.name, "Two traces at once are compared; drop this one by itself.");
      let slot = given.length === 2 ? 0 : slotOfDrop();
      for (const file of given) {
        const place = slot;
        await read(file, (text, name) => load(text, name, place), refuse);
        slot = 1;
      }
    });
  }

  return { start, choose };
})();
