// A walk through the states of a question, wherever its page is: paths of action instances from the initial state.

import { Teller } from "./teller.js";

export const MOST_STEPS = 5000; // Of one path; nobody looks at more.
const MOST_KNOWN = 20000;

export class Walk {
  constructor(data, head, words) {
    this.data = data;
    this.head = head;
    this.teller = new Teller(data, head, words);
    this.known = new Map();
  }

  // The steps along a path, the initial state first; `Error` if one of its actions is not enabled.
  steps(path) {
    const steps = [this.step("", () => this.teller.first())];
    let key = "";
    for (const by of path) {
      const before = steps[steps.length - 1];
      key += `.${by}`;
      steps.push(this.step(key, () => this.taken(before, by)));
    }
    return steps;
  }

  step(key, make) {
    if (!this.known.has(key)) {
      if (this.known.size > MOST_KNOWN) this.known.clear();
      this.known.set(key, make());
    }
    return this.known.get(key);
  }

  taken(before, by) {
    if (!this.head.instances[by]) throw new Error(`there is no action ${by}; they are numbered 0 to ${this.head.instances.length - 1}`);
    const label = this.head.instances[by][1];
    const refusal = this.teller.toldRefusal(before, by);
    if (refusal.length) {
      const why = refusal.map((clause) => `“${clause.label}” does not hold${clause.reasons.length ? ` (${clause.reasons.join("; ")})` : ""}`);
      throw new Error(`step ${before.index + 1}: ${label} is not enabled, ${why.join(" and ")}`);
    }
    const step = this.teller.next(before, by);
    if (!step) throw new Error(`step ${before.index + 1}: ${label} leaves the domain of a field, which is an error of the protocol`);
    return step;
  }

  end(path) {
    return this.steps(path).at(-1);
  }

  // A path that goes on by so many steps, each drawn among the enabled ones; of a seed always the same.
  random(path, count, seed) {
    const draw = drawing(seed);
    const longer = [...path];
    while (longer.length < Math.min(path.length + count, MOST_STEPS)) {
      const { codes } = this.end(longer);
      const enabled = this.teller.search.enabled(codes).filter((by) => this.teller.search.fire(by, codes));
      if (!enabled.length) return { path: longer, says: "no action is enabled there" };
      longer.push(enabled[Math.floor(draw() * enabled.length)]);
    }
    return { path: longer };
  }

  // -- traces -----------------------------------------------------------------------------------------------------

  // The trace document of a path, which `acked show` reads as it reads what `check --trace-out` wrote.
  save(path) {
    const names = this.teller.search.leaves.map((leaf) => leaf.name);
    const steps = this.steps(path);
    return {
      ...this.data.trace,
      steps: steps.map((step, index) => {
        const before = steps[index - 1];
        return {
          index,
          action: step.by === null ? null : this.head.actions[this.head.instances[step.by][0]].name,
          params: step.by === null ? {} : this.data.arguments[step.by],
          state: this.teller.search.decode(step.codes),
          changed: before ? names.filter((_, at) => step.values[at] !== before.values[at]) : [],
          properties: Object.fromEntries(this.data.names.map((name, at) => [name, { 0: false, 1: true, "-": null }[step.marks[at]]])),
        };
      }),
    };
  }

  // The path of a trace document; `Error` if it is not one of this question, or not a run.
  load(trace) {
    const { format, spec } = this.data.trace;
    if (trace === null || typeof trace !== "object" || trace.format !== format) throw new Error(`not a trace file: its format should be '${format}'`);
    const same = ["protocol", "constants", "drop"].every((key) => sameJson((trace.spec || {})[key], spec[key]));
    if (!same) throw new Error("the trace is of another protocol, or of other constants");
    if (!Array.isArray(trace.steps) || !trace.steps.length) throw new Error("the trace has no steps");
    if (trace.steps.length > MOST_STEPS + 1) throw new Error(`the trace has more than ${MOST_STEPS.toLocaleString("en-US")} steps`);
    const path = [];
    trace.steps.forEach((step, index) => {
      if (index) path.push(this.followed(step, index));
      if (!sameJson(step.state, this.teller.search.decode(this.end(path).codes))) throw new Error(index ? `the state of step ${index} is not what its action leads to` : "step 0 is not an initial state of the protocol");
    });
    return path;
  }

  followed(step, index) {
    const found = this.head.instances.findIndex(([action], at) => this.head.actions[action].name === step.action && sameJson(step.params, this.data.arguments[at]));
    if (found < 0) throw new Error(`step ${index} is not a transition of the protocol: ${JSON.stringify(step.action)} is never enabled with these parameters`);
    return found;
  }
}

// Numbers from 0 to 1 that look random: mulberry32.
function drawing(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function sameJson(a, b) {
  if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return a === b;
  const keys = Object.keys(a);
  return Array.isArray(a) === Array.isArray(b) && keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]));
}
