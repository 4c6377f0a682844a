// Exploring: the page asks its own server for what an action leads to, and keeps every path that was taken.

import { el, show } from "./dom.js";
import { unpack } from "./packet.js";

const WIDE = "(min-width: 861px)";

export class Live {
  // `given.token` must accompany every request, `given.example` is a predicate of the protocol; paths are lists of action
  // instances from the initial state.
  constructor(page, given) {
    this.page = page;
    this.pane = page.panes[0];
    this.token = given.token;
    this.example = given.example;
    this.path = [];
    this.undoable = [];
    this.branches = new Map();
    this.depths = new Map();
    this.busy = false;
    this.asked = 0;
    this.finds = 0;
    this.search = null;
    this.answered = Promise.resolve();
    this.message = el("p", { class: "message", role: "status" });
    this.buildTools();
    page.live = this;
    const held = /(?:^|[#&])path=([\d.]*)(?:&step=(\d+))?/.exec(location.hash);
    if (held && held[1]) this.follow(held[1].split(".").map(Number), held[2] === undefined ? null : Number(held[2]));
    else page.refresh();
  }

  buildTools() {
    const button = (key, text, act) => el("button", { type: "button", "data-key": key, onclick: act }, text);
    this.predicate = el("input", { type: "text", "aria-label": "A predicate over the fields", placeholder: this.example, spellcheck: "false", "data-key": "predicate" });
    const find = el(
      "form",
      { class: "find" },
      el("label", {}, "nearest state in which ", this.predicate),
      el("button", { type: "submit" }, "find")
    );
    find.addEventListener("submit", (event) => {
      event.preventDefault();
      this.find();
    });
    this.predicate.addEventListener("input", () => this.forget());
    this.file = el("input", { type: "file", accept: ".json,application/json", "aria-label": "A trace file to load", "data-key": "load" });
    this.file.addEventListener("change", () => this.load());
    this.facts = el("p", { class: "facts" });
    this.list = el("div", { class: "branches" });
    show(this.page.moving, button("undo", "undo (u)", () => this.undo()), button("restart", "start again", () => this.restart()));
    const row = el(
      "div",
      { class: "row" },
      button("random", "walk 10 steps at random", () => this.random()),
      button("save", "save as a trace", () => this.save()),
      el("label", { class: "file" }, "load a trace ", this.file)
    );
    // On a narrow page there is room for the actions only if what is needed now and then is folded away.
    const folded = el("details", { class: "more", open: matchMedia(WIDE).matches }, el("summary", {}, "find, walk, save, compare"), find, row, this.page.options);
    show(this.page.tools, folded, this.message, this.facts, this.list);
  }

  // -- asking -----------------------------------------------------------------------------------------------------

  request(what, body, signal = null) {
    return fetch(`/api/${what}`, {
      method: "POST",
      signal,
      headers: { "Content-Type": "application/json", "X-Acked-Token": this.token },
      body: JSON.stringify(body),
    });
  }

  // The answer, or null if there is none or something else was asked meanwhile. A search, which may take long, gives way to
  // whatever is asked after it; anything else is answered at once, so that a second click is not a second step.
  async ask(what, body) {
    if (this.busy && !this.search) return null;
    if (this.search) this.search.abort();
    const search = what === "find" ? new AbortController() : null;
    this.search = search;
    this.busy = true;
    this.asked += 1;
    const mine = this.asked;
    let release = null;
    if (!search) this.answered = new Promise((resolve) => { release = resolve; });
    this.say("…");
    try {
      const answer = await this.request(what, body, search && search.signal);
      const result = await answer.json();
      if (mine !== this.asked) return null;
      if (!answer.ok) {
        this.say(result.error, true);
        return null;
      }
      if (result.refused) {
        this.say(result.refused, true);
        return null;
      }
      this.say(result.says || "");
      return result;
    } catch {
      if (mine === this.asked) this.say("the server does not answer; is `acked explore` still running?", true);
      return null;
    } finally {
      if (mine === this.asked) {
        this.busy = false;
        this.search = null;
      }
      if (release) release();
    }
  }

  // What is typed into the field is not what was searched for, so that answer is no longer wanted.
  forget() {
    this.finds += 1;
    if (this.search) {
      this.search.abort();
      this.search = null;
      this.busy = false;
      this.asked += 1;
    }
    if (!this.busy) this.say("");
  }

  say(text, bad = false) {
    this.message.textContent = text;
    this.message.classList.toggle("bad", bad);
  }

  // -- moving -----------------------------------------------------------------------------------------------------

  get here() {
    return this.path.slice(0, this.page.step);
  }

  // Goes to the end of another path (or to one of its steps); what was shown can be undone, and stays as a branch.
  async follow(path, step = null, remember = true) {
    const shared = this.shared(path);
    const answer = await this.ask("steps", { path, from: shared + 1 });
    if (!answer) return;
    if (remember) this.undoable.push({ path: this.path, step: this.page.step });
    if (this.path.length > shared && this.path.length) this.branches.set(this.path.join("."), this.path);
    for (const [key, other] of this.branches) {
      if (other.length <= path.length && other.every((part, at) => part === path[at])) this.branches.delete(key);
    }
    const kept = this.pane.steps.slice(0, shared + 1);
    this.pane.steps = [...kept, ...unpack(answer.packet, kept[kept.length - 1])];
    this.pane.trace.packet = { ...this.pane.trace.packet, lanes: answer.packet.lanes };
    this.path = path;
    this.pane.build();
    this.page.step = step === null ? path.length : Math.min(step, path.length);
    this.page.fillChoices();
    this.page.refresh();
  }

  shared(path) {
    let count = 0;
    while (count < path.length && count < this.path.length && path[count] === this.path[count]) count += 1;
    return count;
  }

  take(move) {
    return this.follow([...this.here, move.by]);
  }

  undo() {
    const before = this.undoable.pop();
    if (before) this.follow(before.path, before.step, false);
    else this.say("there is nothing to undo");
  }

  restart() {
    return this.follow([]);
  }

  async random() {
    const answer = await this.ask("random", { path: this.here, steps: 10, seed: Math.floor(Math.random() * 1e9) });
    if (!answer) return;
    await this.follow(answer.path);
    if (answer.says) this.say(answer.says);
  }

  // Of several searches the last one counts.
  async find() {
    this.finds += 1;
    const mine = this.finds;
    const predicate = this.predicate.value;
    await this.answered;
    if (mine !== this.finds) return;
    const answer = await this.ask("find", { path: this.here, predicate });
    if (!answer || !answer.path) return;
    const says = answer.says;
    await this.follow(answer.path);
    if (mine === this.finds) this.say(says);
  }

  // -- files ------------------------------------------------------------------------------------------------------

  async save() {
    const answer = await this.ask("save", { path: this.path });
    if (!answer) return;
    const link = el("a", { href: URL.createObjectURL(new Blob([`${JSON.stringify(answer.trace, null, 1)}\n`], { type: "application/json" })), download: "explored.json" });
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
    const answer = await this.ask("load", { trace });
    this.file.value = "";
    if (answer) this.follow(answer.path);
  }

  // -- drawing ----------------------------------------------------------------------------------------------------

  drawn() {
    const step = this.pane.steps[this.page.step];
    const count = step.rawMoves.length;
    this.facts.textContent = `${count} ${count === 1 ? "successor" : "successors"}, ${this.depthText()}`;
    this.findDepth();
    const others = [...this.branches].map(([key, path]) =>
      el("button", { type: "button", class: "chip", "data-key": `branch-${key}`, onclick: () => this.follow(path) }, `branch of ${path.length === 1 ? "1 step" : `${path.length} steps`}, leaves at ${this.shared(path)}`)
    );
    show(this.list, others.length ? [el("span", {}, "other branches: "), others] : []);
    history.replaceState(null, "", `#path=${this.path.join(".")}&step=${this.page.step}`);
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

  // Asked for beside everything else: the answer may take a second, once.
  async findDepth() {
    const path = this.here;
    const key = path.join(".");
    if (!path.length || this.depths.has(key)) return;
    try {
      const answer = await this.request("depth", { path });
      const depth = await answer.json();
      if (!answer.ok || depth.refused) return;
      this.depths.set(key, depth);
      if (this.here.join(".") === key) this.drawn();
    } catch {
      // The depth stays unknown, which is what is shown.
    }
  }

  key(event) {
    if (event.key === "u") this.undo();
  }
}
