"use strict";
// A table that sorts by its headings and filters by text. Absent values always sort last: absent is not zero.
class Table {
  // columns: {key, label, title, numeric, value(row), cell(row), wide}; `value` sorts, `cell` shows.
  constructor({ caption, columns, rows, sort, most = 60, onSelect, onHover, empty }) {
    this.columns = columns;
    this.rows = rows;
    this.sort = sort;
    this.most = most;
    this.all = false;
    this.text = "";
    this.selected = null;
    this.onSelect = onSelect;
    this.onHover = onHover;
    this.nothing = empty ?? "Nothing matches.";
    this.head = Dom.h("thead");
    this.body = Dom.h("tbody");
    this.more = Dom.h("button", { type: "button", class: "quiet more", onclick: () => this.showAll() });
    this.element = Dom.h("div", { class: "table" },
      Dom.h("div", { class: "table-scroll", tabindex: 0, role: "region", "aria-label": caption },
        Dom.h("table", {}, Dom.h("caption", { class: "sr-only" }, caption), this.head, this.body)),
      this.more);
    this.drawHead();
    this.draw();
  }

  drawHead() {
    const cells = this.columns.map((column) => {
      const sorted = this.sort.key === column.key;
      const direction = sorted ? (this.sort.descending ? "descending" : "ascending") : "none";
      const button = Dom.h("button", { type: "button", title: column.title, onclick: () => this.sortBy(column) },
        Dom.h("span", {}, column.label), Dom.h("span", { class: "arrow", "aria-hidden": "true" }, sorted ? (this.sort.descending ? "↓" : "↑") : ""));
      return Dom.h("th", { scope: "col", "aria-sort": direction, class: column.numeric ? "numeric" : null, "data-key": column.key }, button);
    });
    this.head.replaceChildren(Dom.h("tr", {}, cells));
  }

  sortBy(column) {
    const same = this.sort.key === column.key;
    // Figures are asked for largest first, words from A.
    this.sort = { key: column.key, descending: same ? !this.sort.descending : Boolean(column.numeric) };
    this.drawHead();
    this.draw();
    this.head.querySelector(`[data-key="${column.key}"] button`).focus();
    Dom.announce(`Sorted by ${column.label}, ${this.sort.descending ? "largest first" : "smallest first"}`);
  }

  filter(text) {
    this.text = text.trim().toLowerCase();
    this.draw();
    return this.visible().length;
  }

  showAll() {
    this.all = true;
    this.draw();
  }

  visible() {
    const column = this.columns.find((one) => one.key === this.sort.key) ?? this.columns[0];
    const absent = (value) => value === null || value === undefined || Number.isNaN(value);
    const kept = this.text === "" ? [...this.rows] : this.rows.filter((row) => row.words.includes(this.text));
    const turn = this.sort.descending ? -1 : 1;
    return kept.sort((one, other) => {
      const [a, b] = [column.value(one), column.value(other)];
      if (absent(a) || absent(b)) return Number(absent(a)) - Number(absent(b));
      return turn * (typeof a === "string" ? a.localeCompare(b) : a - b);
    });
  }

  draw() {
    const rows = this.visible();
    const shown = this.all ? rows : rows.slice(0, this.most);
    this.body.replaceChildren(...shown.map((row) => this.line(row)));
    if (shown.length === 0) {
      this.body.append(Dom.h("tr", {}, Dom.h("td", { colspan: this.columns.length, class: "nothing" }, this.nothing)));
    }
    this.more.hidden = shown.length === rows.length;
    this.more.textContent = `Show all ${Format.count(rows.length)} rows`;
  }

  // A name without end would make a row as tall as the window.
  static shortened(content) {
    if (Array.isArray(content)) return content.map(Table.shortened);
    if (typeof content !== "string" || content.length <= Table.NAME) return content;
    return Dom.h("span", { title: Format.cut(content, 2000) }, Format.cut(content, Table.NAME));
  }

  line(row) {
    const cells = this.columns.map((column, index) => {
      let content = Table.shortened(column.cell(row));
      if (content === "–") content = [Dom.h("span", { "aria-hidden": "true" }, "–"), Dom.h("span", { class: "sr-only" }, "not recorded")];
      if (index === 0 && this.onSelect) {
        content = Dom.h("button", { type: "button", class: "link", onclick: () => this.onSelect(row) }, content);
      }
      const tag = index === 0 ? "th" : "td";
      return Dom.h(tag, { scope: index === 0 ? "row" : null, class: [column.numeric && "numeric", column.wide && "wide"].filter(Boolean).join(" ") || null }, content);
    });
    const line = Dom.h("tr", { "data-id": row.id, "aria-selected": this.onSelect ? String(row.id === this.selected) : null }, cells);
    if (this.onHover) {
      line.addEventListener("pointerenter", () => this.onHover(row));
      line.addEventListener("pointerleave", () => this.onHover(null));
    }
    return line;
  }

  // Marks a row and brings it into view; a row beyond the shown ones makes all shown.
  select(id, { reveal = false } = {}) {
    this.selected = id;
    if (reveal && !this.body.querySelector(`[data-id="${CSS.escape(id)}"]`)) {
      this.all = true;
      this.text = "";
      this.draw();
    }
    for (const line of this.body.children) line.setAttribute("aria-selected", String(line.dataset.id === id));
    if (reveal) this.body.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }

  mark(id) {
    for (const line of this.body.children) line.classList.toggle("marked", line.dataset.id === id);
  }
}

Table.NAME = 160;

// A share as a bar behind its number.
Table.bar = (share, text, colour = "accent") =>
  Dom.h("span", { class: "bar-cell", style: `--share: ${Math.max(0, Math.min(1, share ?? 0)) * 100}%; --bar: var(--${colour})` }, text);
