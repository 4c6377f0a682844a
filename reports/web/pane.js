// One run on the page: its steps, the current state, lanes, what may happen, properties and fields.

import { el, show } from "./dom.js";
import { gridElement, usedOffsets } from "./grid.js";
import { Lanes } from "./lanes.js";
import { drawMoving } from "./motion.js";
import { movesElement } from "./moves.js";
import { unpack } from "./packet.js";
import { fieldsElement, propertiesElement } from "./panels.js";

export class Pane {
  // `trace`: title, subject, head, packet, end (why the run goes no further, or null). `page` is asked to go to steps.
  constructor(trace, page, name) {
    this.trace = trace;
    this.head = trace.head;
    this.page = page;
    this.name = name;
    // A walk brings its steps; a run that is over is packed.
    this.steps = trace.steps || unpack(trace.packet);
    this.course = trace.lanes || trace.packet.lanes;
    this.preview = null;
    this.filter = "";
    this.unfolded = new Set();
    this.step = 0;
    this.parts = {};
    for (const part of ["now", "grid", "properties", "moves", "fields", "lanes", "story"]) {
      this.parts[part] = el("div", { class: `part ${part}` });
    }
    this.build();
  }

  // What depends on the run as a whole; again whenever the run itself changes.
  build() {
    this.offsets = usedOffsets(this.steps);
    this.lanes = new Lanes(
      this.course,
      this.steps.length,
      (step) => this.page.go(step),
      (names) => this.point(names)
    );
    show(this.parts.lanes, this.course.actors.length ? this.lanes.element : el("p", { class: "note" }, "This protocol has no lanes."));
    this.items = this.steps.map((step, index) =>
      el(
        "li",
        { class: step.marks.includes("0") ? "violated" : "" },
        el("button", { type: "button", "data-step": index, onclick: () => this.page.go(index) }, el("span", { class: "number" }, index), el("span", {}, step.says))
      )
    );
    // Of a run without end: where its loop begins, and where it goes back to.
    this.remarks = (this.trace.packet && this.trace.packet.remarks) || {};
    for (const [index, remark] of Object.entries(this.remarks)) {
      this.items[index].append(el("p", { class: "remark" }, remark));
    }
    this.list = el("ol", { class: "steps", start: 0 }, this.items);
    show(this.parts.story, this.list);
  }

  label(index) {
    const by = this.steps[index].by;
    return by === null ? "" : this.head.instances[by][1];
  }

  // Draws step `index` as compared with step `base` (null at the beginning).
  draw(index, base, options) {
    const here = Math.min(index, this.steps.length - 1);
    const isOver = index > here;
    const step = this.steps[here];
    const previous = base === null || isOver ? null : this.steps[Math.min(base, this.steps.length - 1)];
    this.step = here;
    const shown = this.preview || step;
    const against = this.preview ? step : previous;
    const caption = `${this.name ? `${this.name}: ` : ""}the state ${this.preview ? "that this action leads to" : `after step ${here}`}`;
    show(this.parts.now, this.nowElements(here, isOver, index));
    const grid = { offsets: Math.max(this.offsets, usedOffsets([shown])), brokers: options.brokers, hideUnchanged: options.hideUnchanged, caption };
    drawMoving(this.parts.grid, () => show(this.parts.grid, gridElement(this.head.look, shown, against, grid)));
    this.pointable();
    show(this.parts.properties, propertiesElement(this.head, this.steps, here, shown, (to) => this.page.go(to), this.unfolded));
    this.drawMoves();
    const keys = options.brokers ? new Set(step.rows.filter((row) => options.brokers.has(row.name)).map((row) => row.key)) : null;
    this.drawFields = () => {
      show(this.parts.fields, fieldsElement(this.head, shown, against, { keys, hideUnchanged: options.hideUnchanged, caption: `Fields of ${caption}` }));
    };
    // The longest table is drawn only where it is seen.
    const section = this.parts.fields.closest("details");
    if (!section || section.open) this.drawFields();
    if (this.marked) this.marked.removeAttribute("aria-current");
    this.marked = this.items[here].firstChild;
    this.marked.setAttribute("aria-current", "step");
    this.reveal(here);
    this.lanes.go(here);
    this.lanes.filter(options.brokers);
  }

  nowElements(here, isOver, index) {
    if (this.preview) {
      return [
        el("p", { class: "label" }, "What if: ", el("code", {}, this.head.instances[this.preview.by][1])),
        el("h2", {}, this.preview.says),
        el("button", { type: "button", "data-key": "back", onclick: () => this.open(null) }, "Back to the trace"),
      ];
    }
    const step = this.steps[here];
    const label = this.label(here);
    return [
      el("p", { class: "label" }, `Step ${here} of ${this.steps.length - 1} `, label ? el("code", {}, label) : null),
      el("h2", {}, step.says),
      this.remarks[here] ? el("p", { class: "remark" }, this.remarks[here]) : null,
      isOver && this.trace.end ? el("p", { class: "hindered" }, `Step ${index} does not happen here: ${this.trace.end}.`) : null,
      isOver && !this.trace.end ? el("p", { class: "note" }, "This trace has ended.") : null,
    ];
  }

  drawMoves() {
    const next = this.steps[this.step + 1];
    const input = el("input", {
      type: "search",
      value: this.filter,
      placeholder: "filter actions",
      "aria-label": `Filter actions${this.name ? ` of ${this.name}` : ""}`,
      "data-key": "filter",
    });
    const list = el("div", {});
    const fill = () =>
      list.replaceChildren(
        ...movesElement(this.head, this.steps[this.step], {
          filter: this.filter,
          taken: next ? next.by : null,
          verb: this.page.data.live ? "Enabled" : "Enabled: see where it leads",
          open: (move) => this.page.choose(this, move),
        }).flat()
      );
    input.addEventListener("input", () => {
      this.filter = input.value;
      fill();
    });
    fill();
    show(this.parts.moves, input, list);
  }

  open(move) {
    this.preview = move;
    this.page.refresh();
  }

  reveal(here) {
    const item = this.items[here];
    const list = this.list;
    if (!item || !list.clientHeight) return;
    const top = item.offsetTop;
    if (top < list.scrollTop || top + item.offsetHeight > list.scrollTop + list.clientHeight) {
      list.scrollTop = Math.max(0, top - list.clientHeight / 2);
    }
  }

  // Grid and lanes point at each other.
  point(names) {
    for (const row of this.parts.grid.querySelectorAll("tr[data-actor]")) {
      row.classList.toggle("pointed", names.includes(row.dataset.actor));
    }
    for (const lane of this.parts.lanes.querySelectorAll(".lane")) {
      lane.classList.toggle("pointed", names.includes(lane.dataset.actor));
    }
  }

  pointable() {
    for (const row of this.parts.grid.querySelectorAll("tr[data-actor]")) {
      row.addEventListener("mouseenter", () => this.point([row.dataset.actor]));
      row.addEventListener("mouseleave", () => this.point([]));
      row.addEventListener("click", () => {
        const { messages } = this.course;
        const actor = this.course.actors.indexOf(row.dataset.actor);
        const arrow = this.lanes.arrows.find((element, at) => {
          const message = messages[at];
          return element.classList.contains("current") && (message.from === actor || message.to === actor);
        });
        if (arrow) arrow.focus();
      });
    }
  }
}
