"use strict";
// Numbers as people read them: three significant digits, a unit, and a dash with a spoken reason where there is none.
const Format = (() => {
  const THIN = "\u202f";

  // Three significant digits without an exponent: 0.0123, 1.23, 12.3, 123, 1235.
  function digits(value) {
    const size = Math.abs(value);
    if (size === 0) return "0";
    if (size >= 100) return Math.round(value).toString();
    // Rounded first: 0.9996 is 1.00, not 1.000.
    const rounded = Number(value.toPrecision(3));
    const places = Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(Math.abs(rounded)))));
    return rounded.toFixed(places);
  }

  // Of a tick: no more digits than it needs.
  const short = (text) => text.replace(/(\.\d*?)0+(?=\u202f|$)/, "$1").replace(/\.(?=\u202f|$)/, "");

  function scaled(value, base, units) {
    let step = 0;
    // 999.6 would read 1000 of the smaller unit.
    while (step < units.length - 1 && Math.abs(value) >= base - 0.5) {
      value /= base;
      step += 1;
    }
    return digits(value) + THIN + units[step];
  }

  const known = (value) => typeof value === "number" && Number.isFinite(value);

  function time(ns) {
    if (!known(ns)) return "–";
    if (Math.abs(ns) >= 6e10) {
      const minutes = Math.trunc(ns / 6e10);
      return `${minutes}${THIN}min ${Math.round(Math.abs(ns / 1e9 - minutes * 60))}${THIN}s`;
    }
    if (ns === 0) return "0";
    return scaled(ns, 1000, ["ns", "µs", "ms", "s"]);
  }

  const bytes = (value) => (known(value) ? scaled(value, 1000, ["B", "kB", "MB", "GB", "TB", "PB"]) : "–");
  const rate = (value) => (known(value) ? scaled(value, 1000, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"]) : "–");
  const flops = (value) =>
    known(value) ? scaled(value, 1000, ["FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"]) : "–";
  const count = (value) => (known(value) ? Math.round(value).toLocaleString("en") : "–");

  function percent(share) {
    if (!known(share)) return "–";
    const value = share * 100;
    if (value !== 0 && Math.abs(value) < 0.05) return `<${THIN}0.1${THIN}%`.replace("<", value < 0 ? "−<" : "<");
    return value.toFixed(Math.abs(value) >= 99.95 ? 0 : 1).replace("-", "−") + THIN + "%";
  }

  // A change with its sign: +12.3 %.
  const change = (share) => (known(share) && share > 0 ? "+" : "") + percent(share);
  const difference = (ns) => (known(ns) ? (ns > 0 ? "+" : ns < 0 ? "−" : "") + time(Math.abs(ns)) : "–");
  const plural = (number, one, many = one + "s") => `${count(number)} ${number === 1 ? one : many}`;

  // A name as long as a place has room for; the whole of it is elsewhere.
  const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

  function date(text) {
    const moment = new Date(text);
    if (Number.isNaN(moment.getTime())) return text;
    return moment.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" }) + " UTC";
  }

  return { time, bytes, rate, flops, count, percent, change, difference, plural, date, known, digits, short, cut };
})();
