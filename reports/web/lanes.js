// Lanes: time runs down, an actor per column, an arrow per message; linked with the grid and the steps.

import { el, svg } from "./dom.js";

const ROW = 26;
const HEAD = 26;
const LONGEST = 13; // Letters of a name that are shown, and the width of one.
const LETTER = 7;
const SMALL = 9; // The smallest names, where a screen is narrow, in px; and the share of that which a letter takes.
const SHARE = 0.55;
const NARROW = 620;
const COMPACT = 1250; // Up to this width the column of messages is narrower.

function words(message, actors) {
  const told = `${actors[message.from]} to ${actors[message.to]}: ${message.text}`;
  return message.fate ? `${told} (${message.fate})` : told;
}

function cut(name) {
  return name.length > LONGEST ? `${name.slice(0, LONGEST - 1)}…` : name;
}

// Where an arrow ends: a message that is late and comes to nothing goes all the way to the step in which it does; any other
// that does not arrive is a stub where it is sent.
function endOf(message) {
  if (message.received !== null) return { step: message.received, share: 1 };
  if (message.dropped !== null && message.late) return { step: message.dropped, share: 0.9 };
  return { step: message.sent + 0.45, share: 0.3 };
}

export class Lanes {
  // `choose(step)` is called when a step or an arrow is clicked, `point(actors)` when one is hovered or focused.
  constructor(lanes, count, choose, point) {
    this.lanes = lanes;
    this.count = count;
    this.choose = choose;
    this.point = point;
    this.drawing = el("div", { class: "diagram scroll", tabindex: 0, role: "region", "aria-label": "Space-time diagram" });
    this.told = el("ul", { class: "told" });
    this.element = el("div", {}, this.told, this.drawing);
    this.draw();
  }

  x(actor) {
    return 34 + this.pitch * (actor + 0.5);
  }

  y(step) {
    return HEAD + ROW * (step + 0.5);
  }

  // The name above a lane, in two lines where it is wider than the lane.
  head(name, at) {
    const shown = cut(name);
    const isWide = shown.length * this.letters * SHARE > this.pitch - 4 && this.letters < 12;
    const lines = isWide ? shown.split(" ") : [shown];
    const text = svg(
      "text",
      { x: this.x(at), "text-anchor": "middle" },
      lines.map((line, number) => svg("tspan", { x: this.x(at), y: lines.length > 1 ? 10 + 11 * number : 15 }, line)),
      svg("title", {}, name)
    );
    if (this.letters < 12) text.style.fontSize = `${this.letters.toFixed(1)}px`;
    return text;
  }

  draw() {
    const { actors, acting, messages } = this.lanes;
    const room = Math.min(innerWidth <= COMPACT ? 350 : 420, innerWidth - 70);
    const longest = Math.max(...actors.map((name) => Math.min(name.length, LONGEST)), 0); // Names stand beside each other.
    const even = Math.min(120, room / Math.max(actors.length, 1));
    const word = Math.max(...actors.flatMap((name) => cut(name).split(" ").map((part) => part.length)), 1);
    // On a phone all lanes are seen at once: names are smaller, and stand in two lines.
    const isNarrow = innerWidth <= NARROW;
    this.pitch = isNarrow ? Math.max(SMALL * SHARE * word + 4, even) : Math.max(74, LETTER * longest + 6, even);
    this.letters = isNarrow ? Math.max(SMALL, Math.min(12, (this.pitch - 4) / (SHARE * word))) : 12;
    const width = 40 + this.pitch * actors.length;
    const height = HEAD + ROW * this.count + 8;
    this.band = svg("rect", { class: "now", x: 0, y: HEAD, width, height: ROW });
    const lines = actors.map((name, at) =>
      svg(
        "g",
        { class: "lane", "data-actor": name },
        svg("line", { x1: this.x(at), x2: this.x(at), y1: HEAD, y2: height }),
        this.head(name, at)
      )
    );
    const ticks = [...Array(this.count).keys()].map((step) =>
      svg(
        "g",
        { class: "tick", "data-step": step },
        svg("rect", { class: "hit", x: 0, y: this.y(step) - ROW / 2, width, height: ROW }),
        svg("text", { x: 4, y: this.y(step) + 4 }, step),
        acting[step] === null || acting[step] === undefined ? null : svg("circle", { cx: this.x(acting[step]), cy: this.y(step), r: 4 })
      )
    );
    this.arrows = messages.map((message) => this.arrow(message));
    this.current = [];
    this.messagesOf = [];
    this.filtered = null;
    for (const [at, message] of messages.entries()) {
      for (const step of new Set([message.sent, message.received, message.dropped])) {
        if (step !== null) (this.messagesOf[step] = this.messagesOf[step] || []).push(at);
      }
    }
    const drawing = svg(
      "svg",
      { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Messages between the actors, step by step" },
      svg(
        "defs",
        {},
        svg("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: "userSpaceOnUse", orient: "auto" }, svg("path", { d: "M0,0 L8,4 L0,8 z" }))
      ),
      this.band,
      lines,
      ticks,
      this.arrows
    );
    drawing.addEventListener("click", (event) => {
      const target = event.target.closest("[data-step]");
      if (target) this.choose(Number(target.dataset.step));
    });
    this.drawing.replaceChildren(drawing);
  }

  arrow(message) {
    const { actors } = this.lanes;
    const label = words(message, actors);
    const [x1, y1] = [this.x(message.from), this.y(message.sent)];
    const arrives = message.received !== null;
    const end = endOf(message);
    const x2 = x1 + (this.x(message.to) - x1) * end.share;
    const y2 = this.y(end.step);
    const bend = message.from === message.to ? 18 : 0;
    const path = `M${x1},${y1} Q${(x1 + x2) / 2 + bend},${(y1 + y2) / 2} ${x2},${y2}`;
    const kind = `${message.dropped !== null ? "dropped" : arrives ? "arrives" : "waiting"}${message.late ? " late" : ""}`;
    const step = arrives ? message.received : message.sent;
    const told = [actors[message.from], actors[message.to]];
    const group = svg(
      "g",
      { class: `arrow ${kind}`, role: "button", tabindex: -1, "aria-label": label, "data-step": step, "data-sent": message.sent, "data-received": arrives ? message.received : "" },
      svg("title", {}, label),
      svg("path", { class: "hit", d: path }),
      svg("path", { class: "line", d: path, "marker-end": arrives ? "url(#head)" : null }),
      arrives ? null : svg("text", { x: x2, y: y2 + 4, "text-anchor": "middle", class: "fate" }, message.dropped !== null ? "×" : "…")
    );
    group.addEventListener("mouseenter", () => this.point(told));
    group.addEventListener("mouseleave", () => this.point([]));
    group.addEventListener("focus", () => this.point(told));
    group.addEventListener("blur", () => this.point([]));
    group.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      this.choose(step);
    });
    return group;
  }

  // Marks the current step; only its arrows can be reached with the Tab key, so that a long run has no thousand stops.
  go(step, scroll = true) {
    this.band.setAttribute("y", HEAD + ROW * step);
    this.told.replaceChildren(...this.wordsOf(step));
    for (const arrow of this.current) {
      arrow.classList.remove("current");
      arrow.setAttribute("tabindex", -1);
    }
    this.current = (this.messagesOf[step] || []).map((at) => this.arrows[at]);
    for (const arrow of this.current) {
      arrow.classList.add("current");
      arrow.setAttribute("tabindex", 0);
    }
    if (!scroll) return;
    const room = this.drawing.clientHeight;
    const at = this.y(step);
    if (at < this.drawing.scrollTop + HEAD || at > this.drawing.scrollTop + room - ROW) {
      this.drawing.scrollTop = Math.max(0, at - room / 2);
    }
  }

  // What this step sends and receives, in words.
  wordsOf(step) {
    const { actors, messages } = this.lanes;
    const mine = messages.filter((message) => message.sent === step || message.received === step || message.dropped === step);
    if (!mine.length) return [el("li", { class: "note" }, "No message in this step.")];
    return mine.map((message) => el("li", {}, words(message, actors)));
  }

  // Fades what has nothing to do with the chosen brokers.
  filter(names) {
    const key = names ? [...names].join() : null;
    if (key === this.filtered) return;
    this.filtered = key;
    for (const [at, message] of this.lanes.messages.entries()) {
      const told = [this.lanes.actors[message.from], this.lanes.actors[message.to]];
      this.arrows[at].classList.toggle("faded", Boolean(names) && !told.some((name) => names.has(name)));
    }
  }
}
