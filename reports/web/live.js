// Exploring: the page takes steps by itself (`walk.js`), and asks for searches whoever it was given for that: a server, or a worker.

import { el, keepAddress, keptAddress, show } from "./dom.js";
import { Served } from "./served.js";
import { Tab } from "./tab.js";
import { lanesOf } from "./teller.js";
import { Tried } from "./tried.js";

const ROOMY = "(min-width: 861px)";
const ANY = "any promise";

const numbers = (text) => (text ? text.split(".").map(Number) : []);

export class Live {
  // `given`: `example`, a predicate of the protocol; `promises` that are searched for; `spec` and `constants` of its links; the
  // `token` of its server, or a worker's `search`. Paths are lists of action instances from the initial state.
  constructor(page, given, walk) {
    this.page = page;
    this.pane = page.panes[0];
    this.given = given;
    this.walk = walk;
    this.engine = given.token ? new Served(given.token) : new Tab(given.search, walk, given.constants);
    this.path = [];
    this.depths = new Map();
    this.finds = 0;
    this.search = null;
    this.tried = new Tried((by) => this.pane.head.instances[by][1], (path) => this.follow(path));
    this.message = el("p", { class: "message", role: "status" });
    this.buildTools();
    page.live = this;
    addEventListener("popstate", () => this.fromLink());
    this.fromLink();
  }

  buildTools() {
    const button = (key, text, act, more = {}) => el("button", { type: "button", "data-key": key, onclick: act, ...more }, text);
    this.predicate = el("input", { type: "text", "aria-label": "A predicate over the fields", placeholder: this.given.example, spellcheck: "false", "data-key": "predicate" });
    const find = el(
      "form",
      { class: "find" },
      el("label", {}, "nearest state in which ", this.predicate),
      el("button", { type: "submit" }, "find")
    );
    find.addEventListener("submit", (event) => {
      event.preventDefault();
      this.look({ predicate: this.predicate.value });
    });
    this.predicate.addEventListener("input", () => this.forget());
    this.promise = el("select", { "aria-label": "Which promise", "data-key": "promise" }, [ANY, ...this.given.promises].map((name) => el("option", { value: name }, name)));
    const broken = el(
      "div",
      { class: "find" },
      el("label", {}, "nearest step that breaks ", this.promise),
      button("break", "find", () => this.look({ promise: this.promise.value === ANY ? null : this.promise.value }), { "aria-label": "Find the nearest step that breaks it" })
    );
    this.stopper = button("stop", "stop", () => this.stop(), { hidden: true });
    this.file = el("input", { type: "file", accept: ".json,application/json", "aria-label": "A trace file to load", "data-key": "load" });
    this.file.addEventListener("change", () => this.load());
    this.facts = el("p", { class: "facts" });
    this.marker = button("mark", "bookmark (b)", () => this.mark());
    this.tree = el("div", { class: "branches" });
    show(this.page.moving, button("undo", "undo (u)", () => this.undo()), button("restart", "start again", () => this.follow([])));
    const row = el(
      "div",
      { class: "row" },
      button("random", "walk 10 steps at random", () => this.random()),
      this.marker,
      button("link", "copy link", () => this.copy()),
      button("save", "save as a trace", () => this.save()),
      el("label", { class: "file" }, "load a trace ", this.file)
    );
    // On a narrow page there is room for the actions only if what is needed now and then is folded away.
    const folded = el("details", { class: "more", open: matchMedia(ROOMY).matches }, el("summary", {}, "find, walk, save, compare"), find, this.given.promises.length ? broken : null, row, this.page.options);
    show(this.page.tools, folded, el("div", { class: "row" }, this.message, this.stopper), this.facts, this.tree);
  }

  say(text, bad = false) {
    this.message.textContent = text;
    this.message.classList.toggle("bad", bad);
  }

  // -- moving -----------------------------------------------------------------------------------------------------

  get here() {
    return this.path.slice(0, this.page.step);
  }

  // Goes to the end of another path, or to one of its steps; the browser's Back undoes it, and what was shown stays in the tree.
  follow(path, step = path.length, remember = true) {
    let steps;
    try {
      steps = this.walk.steps(path);
    } catch (error) {
      this.say(error.message, true);
      return;
    }
    this.forget();
    this.tried.add(path);
    this.pane.steps = steps;
    this.pane.course = lanesOf(steps);
    this.path = path;
    this.pane.build();
    this.page.step = Math.min(step, path.length);
    if (remember) keepAddress(this.link(), { count: this.undoable + 1 }, true);
    this.page.fillChoices();
    this.page.refresh();
  }

  take(move) {
    this.follow([...this.here, move.by]);
  }

  get undoable() {
    return (history.state && history.state.count) || 0;
  }

  undo() {
    if (this.undoable) history.back();
    else this.say("there is nothing to undo");
  }

  random() {
    const { path, says } = this.walk.random(this.here, 10, Math.floor(Math.random() * 1e9));
    this.follow(path);
    if (says) this.say(says);
  }

  mark() {
    this.tried.mark(this.here);
    this.drawn();
  }

  // -- searches ---------------------------------------------------------------------------------------------------

  // Of several searches the last one counts, and whatever is done meanwhile ends it.
  async look(wanted) {
    this.forget();
    const mine = this.finds;
    this.search = new AbortController();
    this.stopper.hidden = false;
    this.say("…");
    const told = (text, bad) => {
      if (mine !== this.finds) return false;
      this.say(text, bad);
      return true;
    };
    try {
      const from = { path: this.here, codes: this.pane.steps[this.page.step].codes };
      const { path, says } = await this.engine.find(from, wanted, this.search.signal, (progress) => told(`… ${progress}`));
      if (mine !== this.finds) return;
      if (path) this.follow(path);
      this.ended();
      this.say(says);
    } catch (error) {
      if (told(error.message, true)) this.ended();
    }
  }

  // What is typed, or shown, is not what was searched for, so that answer is no longer wanted.
  forget() {
    this.finds += 1;
    if (this.search) this.search.abort();
    this.ended();
    this.say("");
  }

  ended() {
    this.search = null;
    this.stopper.hidden = true;
  }

  stop() {
    this.forget();
    this.say("stopped: nothing is decided");
  }

  // The depth of what is shown, beside everything else: the answer may take a second, once.
  async findDepth() {
    const path = this.here;
    const key = path.join(".");
    if (!path.length || this.depths.has(key)) return;
    this.depths.set(key, null);
    try {
      this.depths.set(key, await this.engine.depth({ path, codes: this.pane.steps[path.length].codes }));
      if (this.here.join(".") === key) this.drawn();
    } catch {
      // The depth stays unknown, which is what is shown.
    }
  }

  // The depth is the length of the shortest path from the initial state; this path may be longer.
  depthText() {
    const here = this.page.step;
    if (here === 0) return "depth 0: the initial state";
    const depth = this.depths.get(this.here.join("."));
    const looked = depth ? ` (no shorter path among the nearest ${depth.states.toLocaleString("en")} states)` : "";
    if (!depth || depth.least !== depth.most) return depth && depth.least > 0 ? `depth ${depth.least} to ${depth.most}${looked}` : `depth at most ${here}`;
    return depth.least === here ? `depth ${here}: this is a shortest path` : `depth ${depth.least}: this path of ${here} steps is not the shortest`;
  }

  // -- links and files --------------------------------------------------------------------------------------------

  // What an address says behind its #: of which spec and constants, the path, the step that is shown, and the bookmarks.
  link() {
    const marks = [...this.tried.marks.keys()];
    const parts = { spec: this.given.spec, constants: this.given.subject, path: this.path.join("."), step: this.page.step, ...(marks.length ? { marks: marks.join("|") } : {}) };
    return `#${new URLSearchParams(parts)}`;
  }

  fromLink() {
    const held = new URLSearchParams(keptAddress().slice(1));
    const other = ["spec", "constants"].find((name, at) => held.has(name) && held.get(name) !== [this.given.spec, this.given.subject][at]);
    if (other) {
      this.follow([], 0, false);
      this.say(`the link is of ${held.get("spec")} with ${held.get("constants") || "no constants"}, and this page explores ${this.given.spec} with ${this.given.subject || "no constants"}`, true);
      return;
    }
    for (const mark of (held.get("marks") || "").split("|").filter(Boolean)) if (!this.tried.isMarked(numbers(mark))) this.tried.mark(numbers(mark));
    const path = numbers(held.get("path"));
    this.follow(path, held.has("step") ? Number(held.get("step")) : path.length, false);
    if (!this.pane.steps.length) this.follow([], 0, false);
  }

  async copy() {
    // The address of a server has its token, which is nobody else's business.
    const link = this.given.token ? this.link() : `${location.href.split("#")[0]}${this.link()}`;
    try {
      await navigator.clipboard.writeText(link);
      this.say(this.given.token ? "copied; it goes behind the address of any page that explores this spec" : "copied");
    } catch {
      this.say(link);
    }
  }

  save() {
    const text = `${JSON.stringify(this.walk.save(this.path), null, 1)}\n`;
    const link = el("a", { href: URL.createObjectURL(new Blob([text], { type: "application/json" })), download: "explored.json" });
    link.click();
    URL.revokeObjectURL(link.href);
    this.say("saved as explored.json; `acked show` and `acked view` read it, too");
  }

  async load() {
    const file = this.file.files[0];
    if (!file) return;
    let trace;
    try {
      trace = JSON.parse(await file.text());
    } catch {
      this.say("that file is not JSON", true);
      return;
    }
    this.file.value = "";
    try {
      this.follow(this.walk.load(trace));
    } catch (error) {
      this.say(error.message, true);
    }
  }

  // -- drawing ----------------------------------------------------------------------------------------------------

  drawn() {
    const step = this.pane.steps[this.page.step];
    const count = step.moves().length;
    this.facts.textContent = `${count} ${count === 1 ? "successor" : "successors"}, ${this.depthText()}`;
    this.findDepth();
    this.marker.setAttribute("aria-pressed", String(this.tried.isMarked(this.here)));
    show(this.tree, this.tried.element(this.path, this.here));
    keepAddress(this.link());
  }

  key(event) {
    if (event.key === "u") this.undo();
    if (event.key === "b") this.mark();
  }
}
