"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const make = (name, attributes, text) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };

  // Theme: the system's, until the reader chooses.
  const theme = $("theme");
  const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const label = () => { theme.textContent = dark() ? "Light" : "Dark"; theme.setAttribute("aria-label", "Switch to " + (dark() ? "light" : "dark") + " colours"); };
  theme.hidden = false;
  label();
  theme.addEventListener("click", () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; label(); });

  // A link to a folded part unfolds it; printing unfolds everything.
  const unfold = () => {
    const target = location.hash && $(decodeURIComponent(location.hash.slice(1)));
    for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  if (location.hash) unfold();
  let folded = [];
  addEventListener("beforeprint", () => { folded = [...document.querySelectorAll("#findings details:not([open])")]; folded.forEach((one) => { one.open = true; }); });
  addEventListener("afterprint", () => folded.forEach((one) => { one.open = false; }));

  // A finding that is opened shows the page of its rule, which is in the file once.
  for (const one of document.querySelectorAll("details[data-rule]")) one.addEventListener("toggle", () => {
    const page = $("rule-" + one.dataset.rule);
    if (page && one.open && !one.querySelector(".prose")) one.append(page.querySelector(".prose").cloneNode(true));
  });

  for (const button of document.querySelectorAll(".copy")) {
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(button.previousElementSibling.textContent); button.textContent = "Copied"; } catch { button.textContent = "Not copied"; }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }

  // Tables that sort by a click on a heading.
  const keyOf = (row, column) => row.cells[column].dataset.key || row.cells[column].textContent.trim();
  const compare = new Intl.Collator("en", { numeric: true }).compare;
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((cell, column) => {
      const button = make("button", { type: "button" }, cell.textContent);
      cell.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = cell.getAttribute("aria-sort") !== "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows].sort((a, b) => compare(keyOf(a, column), keyOf(b, column)) * (up ? 1 : -1));
        table.tBodies[0].append(...rows);
      });
    });
  }

  // The filter of the findings.
  const filters = $("filters");
  if (filters) {
    filters.hidden = false;
    const rows = [...$("findings-table").tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]);
    const opened = new Set();
    const apply = () => {
      const words = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
      const wanted = new Set([...filters.querySelectorAll("input:checked")].map((box) => box.value));
      let shown = 0;
      for (const [row, text] of rows) {
        row.hidden = !(wanted.has(row.dataset.severity) && words.every((word) => text.includes(word)));
        row.classList.toggle("folded", !words.length && "fold" in row.dataset && !opened.has(row.dataset.fold));
        shown += row.hidden ? 0 : 1;
      }
      $("shown").textContent = shown === rows.length ? "" : shown + " of " + rows.length;
    };
    for (const button of document.querySelectorAll(".unfold")) {
      button.hidden = false;
      button.addEventListener("click", () => { opened.add(button.dataset.incident); button.remove(); apply(); });
    }
    filters.addEventListener("input", apply);
    filters.addEventListener("submit", (event) => event.preventDefault());
    apply();
  }

  // The timeline.
  const data = JSON.parse($("timeline-data").textContent);
  if (!data.lanes.length || !$("plot")) return;
  $("chart").hidden = false;
  const SVG = "http://www.w3.org/2000/svg";
  const draw = (parent, name, attributes, text) => {
    const made = document.createElementNS(SVG, name);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    parent.append(made);
    return made;
  };
  const lanes = data.lanes, every = lanes.flatMap((lane) => lane.events);
  let first = Math.min(...every.map((e) => e.s)), last = Math.max(data.now || 0, ...every.map((e) => e.e));
  const room = Math.max((last - first) * 0.02, 1000);
  first -= room; last += room;
  let from = first, to = last, lane = -1, chosen = null;
  const STEPS = [1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7, 15e6, 3e7, 6e7, 12e7, 3e8, 6e8, 9e8, 18e8, 36e8, 72e8, 108e8, 216e8, 432e8, 864e8, 1728e8, 6048e8, 26784e8, 315576e8];
  const iso = (us) => new Date(us / 1000).toISOString();
  const full = (us) => iso(us).slice(0, 19).replace("T", " ") + (Math.round(us) % 1e6 ? "." + String(((Math.round(us) % 1e6) + 1e6) % 1e6).padStart(6, "0") : "") + "Z";
  const short = (us, step) => step >= 864e8 ? iso(us).slice(0, 10) : step >= 6e7 ? iso(us).slice(11, 16) : step >= 1e6 ? iso(us).slice(11, 19) : iso(us).slice(11, 23);
  const span = (us) => us >= 1728e8 ? (us / 864e8).toFixed(1) + " days" : us >= 72e8 ? (us / 36e8).toFixed(1) + " hours" : us >= 12e7 ? (us / 6e7).toFixed(1) + " minutes" : us >= 1e6 ? (us / 1e6).toFixed(us < 1e7 ? 2 : 0) + " seconds" : (us / 1e3).toFixed(1) + " ms";
  const plot = $("plot");
  const top = make("div", {}), body = make("div", { class: "lanes" });
  plot.append(top, body);

  const layout = () => {
    const width = Math.max(280, plot.clientWidth), narrow = width < 640;
    return { width, narrow, left: narrow ? 8 : 210, right: width - 8, row: narrow ? 42 : 30 };
  };
  const clip = (text, pixels) => { const most = Math.max(6, Math.floor(pixels / 6.6)); return text.length > most ? text.slice(0, most - 1) + "\u2026" : text; };

  const render = () => {
    const at = layout(), scale = (at.right - at.left) / (to - from);
    const x = (us) => at.left + (us - from) * scale;
    top.replaceChildren(); body.replaceChildren();
    overview(at);
    const step = STEPS.find((one) => one * scale >= (at.narrow ? 76 : 96) * (one < 1e6 ? 1.5 : 1)) || STEPS[STEPS.length - 1];
    const ticks = [];
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) ticks.push(t);
    const axis = draw(top, "svg", { height: 26, "aria-hidden": "true" });
    for (const t of ticks) draw(axis, "text", { class: "tick", x: x(t), y: 19, "text-anchor": x(t) < at.left + 24 ? "start" : x(t) > at.right - 24 ? "end" : "middle" }, short(t, step));
    if (!ticks.length || step < 864e8) draw(axis, "text", { class: "tick", x: at.narrow ? at.left : 0, y: at.narrow ? -4 : 19 }, at.narrow ? "" : iso(from).slice(0, 10) + " UTC");
    const height = lanes.length * at.row + lanes.filter((one, n) => n && one.kind !== lanes[n - 1].kind).length * 6 + 6;
    const svg = draw(body, "svg", { height, role: "presentation" });
    const defs = draw(svg, "defs", {});
    const hatch = draw(defs, "pattern", { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
    draw(hatch, "line", { class: "hatch", x1: 0, x2: 0, y1: 0, y2: 6 });
    const clipping = draw(defs, "clipPath", { id: "inside" });
    draw(clipping, "rect", { x: at.left - 2, y: 0, width: at.right - at.left + 4, height });
    for (const t of ticks) draw(svg, "line", { class: "gridline", x1: x(t), x2: x(t), y1: 0, y2: height });
    if (data.now) {
      draw(svg, "line", { class: "now", x1: x(data.now), x2: x(data.now), y1: 0, y2: height });
      if (data.now <= to) draw(axis, "text", { class: "now", x: x(data.now), y: 6, "text-anchor": "end" }, "now");
    }
    let y = 3;
    lanes.forEach((one, number) => {
      if (number && one.kind !== lanes[number - 1].kind) { draw(svg, "line", { class: "split", x1: 0, x2: at.width, y1: y + 2, y2: y + 2 }); y += 6; }
      const row = draw(svg, "rect", { class: "row" + (number === lane ? " chosen" : ""), x: 0, y, width: at.width, height: at.row, rx: 4 });
      row.addEventListener("click", () => { lane = number; render(); });
      const middle = at.narrow ? y + 29 : y + at.row / 2, name = draw(svg, "text", { x: at.narrow ? 4 : 6, y: at.narrow ? y + 13 : middle + (one.clock ? -1 : 4), direction: "ltr" });
      name.textContent = clip(one.name, at.narrow ? at.width - 60 : at.left - 16);
      draw(name, "title", {}, one.kind + " " + one.name + (one.clock ? ", " + one.clock : "") + (one.leftOut ? ", " + one.leftOut + " milder events not drawn" : ""));
      if (one.clock && !at.narrow) draw(svg, "text", { class: "clock", x: 6, y: middle + 11 }, clip(one.clock.replace(/^clock /, "").replace(/ against.*/, ""), at.left));
      const group = draw(svg, "g", { "clip-path": "url(#inside)" });
      const order = (e) => (e.k === "run" ? 0 : e.k === "silence" ? 1 : e.k === "finding" ? 2 : e.k === "down" ? 3 : e.k === "outage" ? 4 : 5);
      for (const e of [...one.events].sort((a, b) => order(a) - order(b))) if (e.e >= from && e.s <= to) shape(group, e, x, middle, number);
      y += at.row;
    });
    $("span").textContent = full(from).slice(0, 19) + " to " + full(to).slice(0, 19) + "Z, " + span(to - from);
  };

  const density = (e) => Math.log1p((e.n || 1) / Math.max((e.e - e.s) / 1e6, 1));
  const densest = Math.max(...every.filter((e) => e.k === "log").map(density), 1e-9);
  const heat = (e) => (0.4 + 0.6 * density(e) / densest).toFixed(2);
  const shape = (group, e, x, middle, number) => {
    const tall = { run: 4, silence: 8, down: 10, finding: 20, outage: 13, log: 13 }[e.k] || 11;
    const left = x(e.s), width = Math.max(x(e.e) - left, e.k === "log" || e.k === "finding" ? 2.5 : 3);
    if (e.b) draw(group, "rect", { class: "bound", x: x(e.s - e.b), width: Math.max(x(e.e + e.b) - x(e.s - e.b), 1), y: middle - 12, height: 24 });
    const kind = "ev " + e.k + (e.v ? " " + e.v : "") + (e === chosen ? " chosen" : "");
    const made = e.k === "state" || e.k === "leader" || e.k === "step"
      ? draw(group, "path", { class: kind, d: "M" + left + " " + (middle - 6) + "l6 6l-6 6l-6 -6z" })
      : draw(group, "rect", { class: kind, x: left, y: middle - tall / 2 + (e.k === "run" ? 11 : 0), width, height: tall, rx: e.k === "log" ? 0 : 2.5 });
    if (e.k === "log") made.setAttribute("fill-opacity", heat(e)); // a strip: the more lines for its width, the darker
    if (e.o && e.k !== "run" && e.e < (data.now || 0) - 1e6) draw(group, "path", { class: "ev " + e.k + (e.v ? " " + e.v : ""), d: "M" + (left + width + 2) + " " + (middle - 6) + "l7 6l-7 6z" });
    draw(made, "title", {}, e.l + (e.o ? ", not ended" : ""));
    made.addEventListener("click", (event) => { event.stopPropagation(); lane = number; choose(e); });
  };

  // All events in bins, and the part that is shown.
  const overview = (at) => {
    const height = 46, svg = draw(top, "svg", { class: "strip", height, "aria-hidden": "true" });
    draw(svg, "rect", { class: "strip-back", x: at.left, y: 0, width: at.right - at.left, height, rx: 4 });
    const bins = Math.floor((at.right - at.left) / 4), counts = new Array(bins).fill(0), hot = new Array(bins).fill(0);
    const bin = (us) => Math.min(bins - 1, Math.max(0, Math.floor((us - first) / (last - first) * bins)));
    for (const e of every) {
      if (e.k === "run") continue;
      counts[bin(e.s)] += 1;
      if (e.v === "error" || e.v === "critical") hot[bin(e.s)] += 1;
    }
    const most = Math.log1p(Math.max(1, ...counts));
    counts.forEach((count, n) => {
      if (!count) return;
      const high = Math.max(3, Math.log1p(count) / most * (height - 8));
      draw(svg, "rect", { class: "hist" + (hot[n] ? " hot" : ""), x: at.left + n * 4, width: 3, y: height - high - 2, height: high, rx: 1 });
    });
    const place = (us) => at.left + (us - first) / (last - first) * (at.right - at.left);
    const brush = draw(svg, "rect", { class: "brush", x: place(from), width: Math.max(2, place(to) - place(from)), y: 0.5, height: height - 1, rx: 4 });
    let begin = null;
    const where = (event) => first + Math.min(1, Math.max(0, (event.clientX - svg.getBoundingClientRect().left - at.left) / (at.right - at.left))) * (last - first);
    svg.addEventListener("pointerdown", (event) => { begin = where(event); svg.setPointerCapture(event.pointerId); });
    svg.addEventListener("pointermove", (event) => {
      if (begin === null) return;
      const now = where(event);
      brush.setAttribute("x", place(Math.min(begin, now)));
      brush.setAttribute("width", Math.max(2, Math.abs(place(now) - place(begin))));
    });
    svg.addEventListener("pointerup", (event) => {
      if (begin === null) return;
      const now = where(event), low = Math.min(begin, now), high = Math.max(begin, now);
      begin = null;
      if (place(high) - place(low) < 4) { const half = (to - from) / 2; show(now - half, now + half); } else show(low, high);
    });
  };

  const show = (low, high) => {
    const least = 2000, width = Math.min(last - first, Math.max(least, high - low)), middle = (low + high) / 2;
    from = Math.min(Math.max(middle - width / 2, first), last - width);
    to = from + width;
    render();
  };
  const act = {
    in: () => { const q = (to - from) / 4; show(from + q, to - q); },
    out: () => { const h = (to - from) / 2; show(from - h, to + h); },
    left: () => { const q = (to - from) / 4; show(from - q, to - q); },
    right: () => { const q = (to - from) / 4; show(from + q, to + q); },
    all: () => show(first, last),
  };
  for (const button of document.querySelectorAll("[data-act]")) button.addEventListener("click", () => act[button.dataset.act]());

  const choose = (e) => {
    chosen = e;
    render();
    const panel = $("event"), head = make("p"), where = lanes[lane];
    if (e.v) head.append(make("span", { class: "badge " + e.v }, e.v), " ");
    if (e.c) head.append($("rule-" + e.c) ? make("a", { class: "code", href: "#rule-" + e.c }, e.c) : make("span", { class: "code" }, e.c), " ");
    head.append(make("strong", {}, e.l));
    const time = full(e.s) + (e.o ? ", not ended when the evidence does" : e.e > e.s ? " to " + full(e.e) + ", " + span(e.e - e.s) : "");
    const bound = e.b === undefined ? "" : ", \u00b1 " + span(e.b);
    panel.replaceChildren(head, make("p", { class: "dim" }, where.kind + " " + where.name + " \u00b7 " + time + bound + (e.n ? " \u00b7 " + e.n.toLocaleString("en") + " lines" : "")));
    if (e.x) {
      const list = make("ol");
      for (const [file, line, offset, text] of e.x.map((n) => data.lines[n])) {
        const item = make("li");
        item.append(make("bdi", { class: "dim" }, file + ":" + line + ", byte " + offset.toLocaleString("en")), make("pre", {}, text));
        list.append(item);
      }
      panel.append(make("p", { class: "dim" }, "Lines kept as evidence of this kind of event:"), list);
    }
  };
  const near = (way) => {
    if (lane < 0) lane = 0;
    const events = lanes[lane].events.filter((e) => e.k !== "run"), here = events.indexOf(chosen);
    if (!events.length) return;
    const e = events[Math.min(events.length - 1, Math.max(0, here < 0 ? 0 : here + way))];
    if (e.s < from || e.s > to) { const half = (to - from) / 2; from = e.s - half; to = e.s + half; }
    choose(e);
  };
  const follow = () => { const row = body.querySelector(".row.chosen"); if (row) row.scrollIntoView({ block: "nearest" }); };
  const keys = {
    "+": act.in, "=": act.in, "-": act.out, "0": act.all, ArrowLeft: act.left, ArrowRight: act.right,
    ArrowDown: () => { lane = Math.min(lanes.length - 1, lane + 1); chosen = null; render(); follow(); },
    ArrowUp: () => { lane = Math.max(0, lane - 1); chosen = null; render(); follow(); },
    n: () => near(1), p: () => near(-1), Enter: () => near(0),
  };
  plot.addEventListener("keydown", (event) => {
    const run = keys[event.key];
    if (!run || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    run();
  });
  addEventListener("resize", render);
  render();
})();
