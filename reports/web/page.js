// The page: controls that all panes share, keys, the link that holds the step, printing.

import { Check } from "./check.js";
import { el, keepAddress, keptAddress, show } from "./dom.js";
import { gridElement, legendElement } from "./grid.js";
import { Pane } from "./pane.js";

const PLAY_MS = 1200;
const MOST_PRINTED = 80;
const FEW_LANES = 5; // They fit into the column of messages; six do if it is wider.
const MOST_BESIDE = 5; // Offsets of a log that leave room for the lanes beside it.

export class Page {
  // `seen`: what draws runs of real brokers, on pages that have some.
  constructor(root, data, seen = null) {
    this.seen = seen;
    this.root = root;
    this.data = data;
    this.live = null;
    this.step = 0;
    this.base = "previous";
    this.hideUnchanged = false;
    this.brokers = null;
    this.timer = null;
    this.panes = data.traces.map((trace) => (trace.seen ? new this.seen.SeenPane(trace, this) : new Pane(trace, this, data.traces.length > 1 ? trace.name : "")));
    this.step = this.opensAt();
    this.build();
    this.fromLink();
    addEventListener("hashchange", () => this.fromLink());
    addEventListener("keydown", (event) => this.key(event));
    addEventListener("beforeprint", () => this.beforePrint());
    addEventListener("afterprint", () => this.afterPrint());
    this.refresh();
  }

  get last() {
    return Math.max(...this.panes.map((pane) => pane.steps.length + (pane.trace.end ? 1 : 0))) - 1;
  }

  // Where the page opens, if its link does not say so: at the step that its story is about.
  opensAt() {
    if (this.data.played) return this.data.played.begins || 0;
    if (!this.data.story) return 0;
    const broken = this.panes[0].steps.findIndex((step) => step.marks.includes("0"));
    return broken < 0 ? this.last : broken;
  }

  get actors() {
    return [...new Set(this.panes.flatMap((pane) => pane.steps[0].rows.map((row) => row.name)))];
  }

  // -- building ---------------------------------------------------------------------------------------------------

  build() {
    const button = (key, text, label, act) => el("button", { type: "button", "data-key": key, "aria-label": label, title: label, onclick: act }, text);
    this.scrubber = el("input", { type: "range", min: 0, max: this.last, step: 1, class: "scrubber", "aria-label": "Step" });
    this.scrubber.addEventListener("input", () => this.go(Number(this.scrubber.value)));
    this.count = el("output", { class: "count", "aria-hidden": "true" });
    this.playButton = button("play", "play", "Play", () => this.play());
    this.compare = el("select", { "aria-label": "Compare with" });
    this.compare.addEventListener("change", () => {
      this.base = this.compare.value === "previous" ? "previous" : Number(this.compare.value);
      this.refresh();
    });
    const hide = el("input", { type: "checkbox" });
    hide.addEventListener("change", () => {
      this.hideUnchanged = hide.checked;
      this.refresh();
    });
    this.chips = el("span", { class: "chips", role: "group", "aria-label": `Show only these ${this.panes[0].head.look.row || "row"}s` });
    const theme = button("theme", "◐", "Light or dark", () => {
      const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      document.documentElement.dataset.theme = dark ? "light" : "dark";
    });
    this.status = el("p", { class: "sr", role: "status", "aria-live": "polite" });
    this.tools = el("div", { class: "tools" });
    this.moving = el("span", { class: "row" });
    this.options = el(
      "div",
      { class: "options" },
      el("label", {}, "compare with ", this.compare),
      el("label", {}, hide, " hide unchanged"),
      this.chips,
      theme
    );
    const controls = el(
      "nav",
      { class: "controls", "aria-label": "Steps" },
      el(
        "div",
        { class: "moving" },
        button("first", "|◀", "First step (Home)", () => this.go(0)),
        button("back-one", "◀", "One step back (left arrow or k)", () => this.go(this.step - 1)),
        this.scrubber,
        button("next-one", "▶", "One step forward (right arrow or j)", () => this.go(this.step + 1)),
        button("last", "▶|", "Last step (End)", () => this.go(this.last)),
        this.count,
        this.playButton,
        this.moving
      ),
      this.data.live ? null : this.options
    );
    const many = this.panes.length > 1;
    const section = (name, title, part, open = true, ontoggle = null) =>
      el("details", { class: `section ${name}`, open, ontoggle }, el("summary", {}, el("h2", {}, title)), part);
    const columns = this.panes.map((pane) => {
      if (pane.trace.seen) return pane.element();
      const properties = section("properties-section", "Promises", pane.parts.properties);
      const moves = section("moves-section", this.data.live ? "Take an action" : "Possible steps", pane.parts.moves, !this.data.played);
      const fields = section("fields-section", "All fields", pane.parts.fields, false, (event) => event.target.open && pane.drawFields());
      const lanes = section("lanes-section", "Messages", pane.parts.lanes);
      // Beside real brokers the model has its grid alone; the rest of it stands below.
      if (this.data.played) {
        this.below = pane.trace.only_states ? [] : [properties, lanes, moves, fields];
        const note = el("span", { class: "note" }, ` ${pane.trace.is || "what every step should lead to"}`);
        return el("section", { class: "pane", "aria-label": pane.name }, el("h2", { class: "name" }, pane.name, note), el("p"), pane.parts.grid);
      }
      // Who explores looks for what to do next: the actions come before the state on a narrow page, and beside it on a wide one.
      const parts = this.data.live
        ? [pane.parts.now, moves, el("div", { class: "middle" }, pane.parts.grid, this.tools, properties, lanes, fields)]
        : [el("div", { class: "middle" }, pane.parts.now, pane.parts.grid, this.isAlone ? this.aboutElements() : null, properties, moves, fields), el("div", { class: "side" }, lanes)];
      return el(
        "section",
        { class: `pane${pane.offsets > MOST_BESIDE ? " wide" : ""}${pane.course.actors.length > FEW_LANES ? " crowded" : ""}`, "aria-label": pane.name || "The trace" },
        many ? el("h2", { class: "name" }, pane.trace.name, el("span", { class: "note" }, ` ${pane.trace.subject}`)) : null,
        parts
      );
    });
    const story = el("section", { class: "story-column", "aria-label": "All steps" }, el("h2", {}, "The trace, step by step"), this.panes[0].parts.story);
    this.printed = el("div", { class: "printed" });
    this.legend = this.panes.filter((pane) => pane.steps[0].hasPicture).map((pane) => legendElement(pane.head.look)).slice(0, 1);
    this.strip = this.data.played ? new this.seen.Strip(this.panes.slice(1), (step) => this.go(step), this.data.played.legend) : null;
    const played = this.strip
      ? [story, el("div", { class: "middle" }, this.panes[0].parts.now, this.strip.element, el("div", { class: this.panes.some((pane) => pane.trace.only_lines) ? "beside over" : "beside" }, columns), el("div", { class: "below" }, this.below))]
      : null;
    // The state comes first, then how it came about.
    const main = played || [columns, many ? null : story];
    show(
      this.root,
      this.headElement(),
      controls,
      this.status,
      el("main", { class: this.strip ? "played" : `${many ? "many" : "one"}${this.data.live ? " live" : ""}`, id: "main" }, main),
      this.isAlone ? null : this.aboutElements(),
      this.legend,
      el("footer", {}, el("p", {}, "Keys: ← → or k j step, Home End ends, space plays. The address holds the step.")),
      this.printed
    );
    this.fillChoices();
  }

  headElement() {
    const { title, subject, story, note } = this.data;
    return el(
      "header",
      { class: this.data.live ? "live" : null },
      el("p", { class: "brand" }, this.data.home ? el("a", { href: this.data.home }, "acked: all stories") : "acked"),
      el("h1", {}, el("bdi", {}, title)),
      story ? this.storyElements(story) : null,
      el("details", { class: "subject" }, el("summary", { "data-key": "constants" }, this.data.traces[0].name, ", with these constants"), el("code", {}, subject)),
      note ? el("p", { class: "headnote" }, note) : null,
      this.data.played ? this.seen.verdictsElement(this.data.played) : null
    );
  }

  // How things stand, and what happened in the reader's words.
  storyElements(story) {
    const pane = this.panes[0];
    const opens = this.opensAt();
    const broken = pane.head.properties.filter((_, at) => pane.steps[opens].marks[at] === "0").map(({ name }) => el("span", { class: "bad" }, `✗ ${name} is broken in step ${opens} of ${this.last}`));
    return [broken.length ? el("p", { class: "status" }, broken) : null, el("p", { class: "happened" }, story.happened)];
  }

  // One run, whose state has the page to itself: what was promised stands below it.
  get isAlone() {
    return this.panes.length === 1 && !this.data.played;
  }

  aboutElements() {
    const { story, check } = this.data;
    return [
      story
        ? el(
            "div",
            { class: "promise" },
            el("p", { class: "promised" }, story.promised),
            story.prevented ? el("p", { class: "prevented" }, story.prevented) : null,
            el("p", { class: "source" }, story.source)
          )
        : null,
      check ? new Check(check).element : null,
    ];
  }

  // What depends on how long the run is and who takes part.
  fillChoices() {
    this.scrubber.max = this.last;
    const options = [el("option", { value: "previous" }, "the step before")];
    for (let at = 0; at <= this.last; at += 1) options.push(el("option", { value: at }, `step ${at}`));
    this.compare.replaceChildren(...options);
    this.compare.value = String(this.base);
    show(
      this.chips,
      this.actors.map((name) => {
        const pressed = this.brokers !== null && this.brokers.has(name);
        return el("button", { type: "button", class: "chip", "data-key": `chip-${name}`, "aria-pressed": String(pressed), onclick: () => this.toggle(name) }, name);
      })
    );
  }

  toggle(name) {
    const chosen = new Set(this.brokers || []);
    if (chosen.has(name)) chosen.delete(name);
    else chosen.add(name);
    this.brokers = chosen.size ? chosen : null;
    this.fillChoices();
    this.refresh();
  }

  // -- going ------------------------------------------------------------------------------------------------------

  go(step) {
    const to = Math.max(0, Math.min(this.last, step));
    for (const pane of this.panes) pane.preview = null;
    this.step = to;
    this.refresh();
    this.toLink();
  }

  refresh() {
    const base = this.base === "previous" ? (this.step > 0 ? this.step - 1 : null) : Math.min(this.base, this.last);
    const options = { brokers: this.brokers, hideUnchanged: this.hideUnchanged };
    for (const pane of this.panes) pane.draw(this.step, base, options);
    if (this.strip) this.strip.go(this.step);
    this.scrubber.value = this.step;
    const first = this.panes[0];
    const says = first.preview ? first.preview.says : first.steps[first.step].says;
    this.scrubber.setAttribute("aria-valuetext", `step ${this.step} of ${this.last}: ${says}`);
    this.count.textContent = `${this.step} / ${this.last}`;
    const broken = this.head_violated();
    this.status.textContent = `Step ${this.step} of ${this.last}: ${says}${broken ? `. Violated: ${broken}` : ""}`;
    if (this.live) this.live.drawn();
  }

  head_violated() {
    const pane = this.panes[0];
    const shown = pane.preview || pane.steps[pane.step];
    return pane.head.properties.filter((_, at) => shown.marks[at] === "0").map((property) => property.name).join(", ");
  }

  choose(pane, move) {
    if (this.live) this.live.take(move);
    else pane.open(move);
  }

  play() {
    if (this.timer) {
      clearInterval(this.timer);
      this.timer = null;
    } else {
      if (this.step >= this.last) this.go(0);
      this.timer = setInterval(() => {
        if (this.step >= this.last) this.play();
        else this.go(this.step + 1);
      }, PLAY_MS);
    }
    this.playButton.textContent = this.timer ? "pause" : "play";
    this.playButton.setAttribute("aria-label", this.timer ? "Pause" : "Play");
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
    const tag = target instanceof HTMLElement ? target.tagName : "";
    const typing = (tag === "INPUT" && target.type !== "range" && target.type !== "checkbox") || tag === "SELECT" || tag === "TEXTAREA";
    if (typing) return;
    const to = { ArrowRight: this.step + 1, ArrowDown: null, j: this.step + 1, ArrowLeft: this.step - 1, k: this.step - 1, Home: 0, End: this.last }[event.key];
    if (to !== undefined && to !== null) {
      event.preventDefault();
      this.go(to);
    } else if (event.key === " " && !["BUTTON", "SUMMARY", "INPUT"].includes(tag) && !target.closest?.("[role=button]")) {
      event.preventDefault();
      this.play();
    } else if (event.key === "Escape" && this.panes.some((pane) => pane.preview)) {
      for (const pane of this.panes) pane.preview = null;
      this.refresh();
    } else if (this.live) {
      this.live.key(event);
    }
  }

  // -- the link ---------------------------------------------------------------------------------------------------

  toLink() {
    if (this.live) return;
    keepAddress(`#step=${this.step}`);
  }

  fromLink() {
    const match = /(?:^|[#&])step=(\d{1,6})\b/.exec(keptAddress());
    const to = match ? Math.min(Number(match[1]), this.last) : this.step;
    if (to !== this.step) {
      this.step = to;
      this.refresh();
    }
  }

  // -- paper ------------------------------------------------------------------------------------------------------

  beforePrint() {
    const pane = this.panes[0];
    if (this.panes.length > 1 || pane.steps.length > MOST_PRINTED) return;
    document.body.classList.add("prints-all");
    const options = { offsets: pane.offsets, brokers: this.brokers, hideUnchanged: false };
    show(
      this.printed,
      pane.steps.map((step, at) =>
        el("section", {}, el("h3", {}, `${at}  ${step.says}`), gridElement(pane.head.look, step, at ? pane.steps[at - 1] : null, { ...options, caption: `step ${at}` }))
      )
    );
  }

  afterPrint() {
    document.body.classList.remove("prints-all");
    show(this.printed);
  }
}
