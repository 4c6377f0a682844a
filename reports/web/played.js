// A run that real brokers played, beside the model's: the state that was seen after each step, and the brokers' own log lines.

import { el, hidden, show } from "./dom.js";
import { gridElement, usedOffsets } from "./grid.js";
import { unpack } from "./packet.js";

const SIGNS = { same: "✓", next: "·", parted: "✗", beyond: "→", none: "" };

export class SeenPane {
  constructor(trace, page) {
    this.trace = trace;
    this.head = trace.head;
    this.page = page;
    this.name = trace.name;
    this.steps = unpack(trace.packet);
    this.preview = null;
    this.step = 0;
    this.offsets = usedOffsets(this.steps);
    this.parts = { now: el("div", { class: "part verdict" }), grid: el("div", { class: "part grid" }), lines: el("div") };
  }

  draw(index, base, options) {
    this.step = Math.min(index, this.steps.length - 1);
    const step = this.steps[this.step];
    const { agreement, says, differs, rows, lines } = step.seen;
    const text = agreement === "parted" && !this.trace.only_lines ? `Step ${this.step} goes another way` : says;
    show(
      this.parts.now,
      el("p", { class: `agreement is-${agreement}` }, el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[agreement]), ` ${text}`),
      differs.length ? el("ul", { class: `differs is-${agreement}` }, differs.map((difference) => el("li", {}, difference))) : null
    );
    const against = base === null ? null : this.steps[Math.min(base, this.steps.length - 1)];
    const caption = `${this.name}: what is seen after step ${this.step}`;
    const grid = { offsets: Math.max(this.offsets, options.offsets || 1), brokers: options.brokers, hideUnchanged: options.hideUnchanged, caption, isSeen: true };
    show(
      this.parts.grid,
      this.trace.only_lines ? null : step.hasPicture ? gridElement(this.head.look, step, against && against.hasPicture ? against : null, grid) : el("p", { class: "note" }, "Nothing was seen here.")
    );
    for (const row of this.parts.grid.querySelectorAll("tr[data-actor]")) row.classList.toggle("differs", rows.includes(row.dataset.actor));
    show(
      this.parts.lines,
      el("h3", {}, "What they said in their logs"),
      lines.length ? this.logElement(lines) : el("p", { class: "note" }, "Nothing about this topic.")
    );
  }

  logElement(lines) {
    const items = lines.map(([line, tells]) => el("li", { class: tells ? "telling" : null }, line));
    return el("div", { class: "log-lines", tabindex: 0, role: "region", "aria-label": `Log lines of ${this.name}` }, el("ol", {}, items));
  }

  element() {
    return el(
      "section",
      { class: "pane seen", "aria-label": this.name },
      el("h2", { class: "name" }, this.name, el("span", { class: "note" }, ` ${this.trace.subject}`)),
      this.parts.now,
      this.parts.grid,
      el("div", { class: "part lines" }, this.parts.lines),
      el("p", { class: "note" }, this.trace.seen)
    );
  }
}

// Step by step who went along: a row for each run on real brokers, a cell for each step.
export class Strip {
  constructor(panes, go, legend = null) {
    const count = panes[0].steps.length;
    this.cells = [];
    const cell = (pane, at) => {
      const { agreement, says } = pane.steps[at].seen;
      const told = `${pane.name}, step ${at}: ${agreement === "parted" && !pane.trace.only_lines ? "goes another way" : says}`;
      const button = el("button", { type: "button", class: `is-${agreement}`, title: told, "aria-label": told, "data-step": at, onclick: () => go(at) }, SIGNS[agreement]);
      this.cells.push(button);
      return el("td", {}, button);
    };
    const steps = [...Array(count).keys()];
    this.element = el(
      "div",
      { class: "scroll strip-of-steps" },
      el(
        "table",
        {},
        el("caption", { class: "sr" }, "At which steps real brokers did what the model says"),
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, hidden("brokers")), steps.map((at) => el("th", { scope: "col" }, at)))),
        el("tbody", {}, panes.map((pane) => el("tr", {}, el("th", { scope: "row" }, pane.name), steps.map((at) => cell(pane, at)))))
      ),
      el("p", { class: "note" }, legend || "✓ as the model says, · compared after the next step, ✗ goes another way, → goes on, not compared. Of leader epochs only the order is compared.")
    );
  }

  go(step) {
    for (const cell of this.cells) {
      const isHere = Number(cell.dataset.step) === step;
      if (isHere) cell.setAttribute("aria-current", "step");
      else cell.removeAttribute("aria-current");
      // On a narrow page the step that is shown stays in sight; the page itself does not move.
      const place = cell.parentElement;
      if (isHere) this.element.scrollLeft = Math.max(0, place.offsetLeft - this.element.clientWidth / 2);
    }
  }
}

// What stands at the top: how it ended, and in which rules the trace is not like the release.
export function verdictsElement(played) {
  return el(
    "div",
    { class: "verdicts" },
    played.verdicts.map(([ending, text]) => el("p", { class: `ended ${ending}` }, { good: "✓ ", bad: "✗ ", open: "? " }[ending], text)),
    played.notes.map(([heading, rules]) => el("details", {}, el("summary", {}, heading), el("p", { class: "note" }, rules)))
  );
}
