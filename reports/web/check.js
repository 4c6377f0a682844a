// The part of a page that answers its question again, in the reader's own browser: every state visited, by a worker.
//
// `check` is made by `reports/pages/checking.py`, and for the site by `tools/parts/modules.py`: the script of the search, or a
// function that fetches it; what acked answered, as far as it is known; the run that acked found, if there is one, which the page
// shows, unless the names of `steps` are given to tell it here.

import { el, show } from "./dom.js";

const number = (value) => value.toLocaleString("en-US");
const megabytes = (bytes) => `${number(Math.max(Math.round(bytes / 1e6), 1))} MB`;

const MANY_STATES = 2e6;
const STATES_A_SECOND = 250000; // The median of docs/in_browser.csv, on a busy machine; the slowest tenth is below 175,000.

// What a search will take, if that is much.
function costs({ states, bytes }) {
  const seconds = states < MANY_STATES ? "" : ` and, at ${number(STATES_A_SECOND)} states a second, ${number(Math.ceil(states / STATES_A_SECOND))} seconds`;
  return `in about ${megabytes(bytes)}${seconds}`;
}

function rate(states, seconds) {
  return seconds > 0.2 ? `, ${number(Math.round(states / seconds / 1000) * 1000)} states a second` : "";
}

export class Check {
  constructor(check) {
    this.check = check;
    this.worker = null;
    this.last = null;
    this.button = el("button", { type: "button", "data-key": "check", onclick: () => (this.worker ? this.stop() : this.start()) });
    this.bar = el("progress", { max: check.native.states, value: 0, hidden: true, "aria-label": "States that were visited" });
    this.progress = el("span", { class: "note" });
    this.said = el("div", { role: "status", "aria-live": "polite" });
    this.element = el(
      "section",
      { class: "check", "aria-label": "Check all states here" },
      el("div", { class: "row" }, this.button, this.bar, this.progress),
      this.said
    );
    this.idle();
  }

  idle() {
    this.worker = null;
    this.button.textContent = "Check all states here";
    this.bar.hidden = true;
    const { native } = this.check;
    this.progress.textContent = `Your browser searches as acked did: ${number(native.states)} states, ${costs(native)}; nothing is sent anywhere.`;
  }

  start() {
    show(this.said);
    this.last = null;
    this.button.textContent = "Stop";
    this.bar.hidden = false;
    this.bar.value = 0;
    this.progress.textContent = "begins";
    if (typeof this.check.script === "string") this.begin(this.check.script);
    else this.fetch();
  }

  // The script from beside the page; what comes after Stop is not begun.
  async fetch() {
    const mine = (this.worker = { terminate() {} });
    try {
      const script = await this.check.script();
      if (this.worker === mine) this.begin(script);
    } catch (error) {
      if (this.worker === mine) this.refuse(`${error.message}.`);
    }
  }

  begin(script) {
    try {
      const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
      this.worker = new Worker(address);
      URL.revokeObjectURL(address);
    } catch (error) {
      this.refuse(`This browser allows no worker here: ${error.message}.`);
      return;
    }
    const worker = this.worker; // What one that was stopped has still to say is not heard.
    worker.onmessage = ({ data }) => worker === this.worker && this.hear(data);
    worker.onerror = (event) => worker === this.worker && this.refuse(`The search ended, perhaps for want of memory: ${event.message || "the browser ended its worker"}.`);
    worker.postMessage({});
  }

  hear({ progress, answer, refusal }) {
    if (progress) this.tell(progress);
    else if (answer) this.conclude(answer);
    else this.refuse(refusal);
  }

  tell(progress) {
    this.last = progress;
    this.bar.value = Math.min(progress.states, this.check.native.states);
    this.progress.textContent = `level ${progress.level}, ${number(progress.states)} states${rate(progress.states, progress.seconds)}, ${megabytes(progress.bytes)}`;
  }

  end() {
    if (this.worker) this.worker.terminate();
    this.idle();
  }

  stop() {
    const seen = this.last ? `after ${number(this.last.states)} states of ${this.last.level} levels` : "before its first level was done";
    this.end();
    show(this.said, el("p", {}, `Stopped ${seen}: nothing is decided.`));
  }

  // Nothing was decided, whatever was seen.
  refuse(sentence) {
    this.end();
    show(this.said, el("p", { class: "message bad" }, sentence, " Nothing is decided."));
  }

  // A trace by the names of its steps, where the page shows none.
  trace({ property, actions }) {
    const steps = actions.map((action) => el("li", {}, el("code", {}, this.check.steps[action])));
    return el("details", {}, el("summary", {}, `The shortest trace that violates ${property}`), el("ol", {}, steps));
  }

  conclude(answer) {
    this.end();
    const { native, run, by = "acked" } = this.check;
    const shown = this.check.steps ? "acked's" : "the one on this page";
    const known = [
      ["states", answer.states, native.states],
      ["generated", answer.generated, native.generated],
      ["levels", answer.levels.length, native.levels ? native.levels.length : native.depth],
      ["steps of the trace", answer.violations.length ? answer.violations[0].actions.length : 0, native.steps],
    ];
    const rows = known.filter(([, , there]) => there !== undefined && there !== null);
    const isEachLevel = !native.levels || String(answer.levels) === String(native.levels);
    const isEqual = answer.verdict === native.verdict && rows.every(([, here, there]) => here === there) && isEachLevel;
    const isSame = !run || answer.violations.some((item) => String(item.actions) === String(run.actions) && String(item.states) === String(run.states));
    const traced = !run ? "" : isSame ? `The shortest trace that it found is ${shown}, step by step.` : `Its shortest trace is not ${shown}.`;
    const ended = answer.verdict === "incomplete" || answer.verdict === "error";
    show(
      this.said,
      el("p", { class: ended ? "message bad" : "verdict" }, answer.words),
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, el("td"), el("th", { scope: "col" }, "in this tab"), el("th", { scope: "col" }, by))),
        el("tbody", {}, rows.map(([name, here, there]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, number(here)), el("td", {}, number(there)))))
      ),
      ended ? null : el("p", { class: isEqual && isSame ? "prevented" : "message bad" }, isEqual ? `Equal${native.levels ? ", level by level" : ""}. ` : "Not equal: please report this with your browser's name. ", traced),
      el("p", { class: "note" }, `${answer.seconds.toFixed(answer.seconds < 1 ? 3 : 1)} s${rate(answer.states, answer.seconds)}, ${megabytes(answer.bytes)}, ${answer.bits}-bit addresses, a module of ${number(answer.module)} bytes`),
      this.check.steps ? answer.violations.map((item) => this.trace(item)) : null
    );
  }
}
