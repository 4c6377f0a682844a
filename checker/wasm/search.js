// The search of one question with its WebAssembly module: what `checker/shards`, `checker/search` and the ledger do around the
// native loops, with one worker. No imports: it runs in a worker of a page, in Node and from a file.
//
// `spec` is made by `checker/wasm/script.py`: sizes and numbers of slots (`layout`), the question, and its modules.

const CHUNK = 1 << 15; // States that are expanded between two looks at the clock.
const TELL_MS = 100;
const PAGE = 65536;
const LIMITS = { 32: 2 ** 32, 64: 2 ** 34 }; // Bytes of memory, by the bits of an address.
const GROWTH = [1.5, 1.25]; // Of a large table; where memory is short, less of it.
const LEAST_BUCKETS = 512;

// What a browser cannot do or has no room for, in one sentence for people.
class Refusal extends Error {}

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// The first of the modules that this engine takes, and how many bits its addresses have: 32 are as quick, and more engines have
// them, but reach no further than 4 GiB.
async function chosenModule(modules, bits) {
  for (const width of ["32", "64"].filter((width) => width in modules && (!bits || width === String(bits)))) {
    const code = await unpacked(modules[width]);
    if (WebAssembly.validate(code)) return { bits: Number(width), module: await WebAssembly.compile(code), bytes: code.length };
  }
  throw new Refusal("This browser cannot run the search: it needs WebAssembly with SIMD, which Chrome has from 91, Firefox from 89 and Safari from 16.4 on.");
}

// -- memory, and calls into the module ----------------------------------------------------------------------------

class Machine {
  constructor(spec, chosen, mostBytes) {
    this.spec = spec;
    this.slots = spec.layout.slots;
    this.mostBytes = mostBytes;
    this.is64 = chosen.bits === 64;
    this.exports = new WebAssembly.Instance(chosen.module, {}).exports;
    this.memory = this.exports.memory;
    this.next = Number(this.exports.heap.value);
    this.context = this.reserve(8 * this.slots.CONTEXT_SLOTS);
    this.arrange();
  }

  // An address, as functions take it, and a number, which is 64 bits in either module.
  pointer(value) {
    return this.is64 ? BigInt(value) : value;
  }

  call(name, ...args) {
    return Number(this.exports[name](this.pointer(this.context), ...args));
  }

  listed(index, ...args) {
    return this.exports.table.get(this.pointer(index))(...args);
  }

  reserve(bytes) {
    const at = this.next;
    this.next = Math.ceil((at + bytes) / 64) * 64;
    return at;
  }

  // Memory up to an address; false if the engine, or `mostBytes`, does not give it.
  reach(end) {
    const missing = Math.ceil((end - this.memory.buffer.byteLength) / PAGE);
    if (Math.ceil(end / PAGE) * PAGE > this.mostBytes) return false;
    if (missing > 0) {
      try {
        this.memory.grow(this.pointer(missing));
      } catch {
        return false;
      }
    }
    if (!this.words || this.words.buffer !== this.memory.buffer) {
      this.words = new BigUint64Array(this.memory.buffer);
      this.bytes = new Uint8Array(this.memory.buffer);
    }
    return true;
  }

  get(at) {
    return Number(this.words[at / 8]);
  }

  put(at, value) {
    this.words[at / 8] = BigInt(value);
  }

  slot(name) {
    return this.get(this.context + 8 * this.slots[name]);
  }

  set(name, value) {
    this.put(this.context + 8 * this.slots[name], value);
  }

  state(at) {
    return [...this.words.subarray(at / 8, at / 8 + this.spec.words)];
  }

  putState(at, words) {
    this.words.set(words, at / 8);
  }

  clear(at, bytes) {
    this.bytes.fill(0, at, at + bytes);
  }

  // Lays out all that does not grow, and fills the context.
  arrange() {
    const { spec, slots } = this;
    const { batch, group, ring, offer_slots, shared_slots, spare_slots, offer_closed } = spec.layout;
    const worst = batch * Math.max(spec.actions.length, 1);
    const scratch = {
      BASES: 8,
      OFFERS: 8 * offer_slots,
      SHARED: 8 * shared_slots,
      COLUMNS: spec.leaves * spec.column_bytes + 64,
      ROWS: (Math.max(spec.rows, 1) * batch) / 8 + 64,
      LIST: 2 * (batch + 64),
      OUT: 8 * (worst + 2 * group) * spec.words,
      ACTS: 2 * worst + 64,
      HASHES: 8 * worst + 64,
      FLAGS: 8 * (batch + group),
      SPARE: 8 * spare_slots,
      SEEN: 8 * ring,
      HOMES: 8 * ring,
      FIRES: 8 * Math.max(spec.actions.length, 1),
      ENABLED: 8 * Math.max(spec.actions.length, 1),
      NEW: 8 * Math.max(spec.actions.length, 1),
      BEST_STATES: 8 * Math.max(spec.conditions, 1) * (spec.words + 1),
      BEST_STEPS: 8 * spec.checks * (spec.words + 2),
      BEST_SOURCE: 8 * (spec.words + 2),
    };
    this.at = Object.fromEntries(Object.entries(scratch).map(([name, bytes]) => [name, this.reserve(bytes)]));
    this.own = this.reserve(8 * spec.words * Math.max(spec.block, group)); // A state that is looked at by itself, among any others.
    this.target = this.reserve(8 * spec.words);
    const received = Math.max(spec.initial.length, 1);
    this.initial = this.reserve(8 * spec.words * received);
    this.initialActs = this.reserve(2 * received);
    if (!this.reach(this.next)) throw new Refusal("This tab has no memory for the search.");
    for (const [name, at] of Object.entries(this.at)) this.set(name, at);
    const first = spec.is_symmetric ? 4 : 3;
    spec.actions.forEach((_, number) => this.put(this.at.FIRES + 8 * number, first + number));
    this.firstAction = first;
    const given = {
      UNPACK: 1,
      GUARDS: 2,
      REPRESENT: spec.is_symmetric ? 3 : 0,
      ACTIONS: spec.actions.length,
      PROPERTIES: spec.conditions,
      BLOCK: spec.block,
      WORKERS: 1,
      DEFERS: 1,
      MAX_STATES: spec.layout.most_states,
    };
    for (const [name, value] of Object.entries(given)) this.set(name, value);
    this.words[this.at.OFFERS / 8 + slots.OFFER_NEXT] = BigInt(offer_closed);
    // From here on stand the table, how full its buckets are while it grows, and the states.
    this.table = this.next;
    this.statesAt = this.next;
    this.set("TABLE", this.table);
    if (!this.layOut(LEAST_BUCKETS)) throw new Refusal("This tab has no memory for the search.");
    this.set("BUCKETS", LEAST_BUCKETS);
    this.call("set_limit");
  }

  // Makes room for a table of so many buckets and the states that it may hold, behind what is there; false if there is none.
  layOut(buckets) {
    const { bucket, pad, load, batch } = this.spec.layout;
    const room = Math.floor((buckets * bucket) / load[1]) * load[0];
    const fill = this.table + 8 * bucket * (buckets + pad + 1);
    const states = Math.ceil((fill + buckets + pad + 64) / 64) * 64;
    if (room > this.spec.layout.most_states || !this.reach(states + 8 * this.spec.words * (room + batch))) return false;
    this.bytes.copyWithin(states, this.statesAt, this.statesAt + 8 * this.spec.words * this.count);
    // What stood behind the table, the old list of fill and the states, is part of the table now.
    if (this.fill !== undefined) this.clear(this.fill, states - this.fill);
    this.fill = fill;
    this.statesAt = states;
    this.set("FILL", fill);
    for (const name of ["STATES", "ALL_STATES"]) this.set(name, states);
    this.put(this.at.OFFERS + 8 * this.slots.OFFER_STATES, states);
    this.set("ROOM", room);
    this.set("MAX_BUCKETS", buckets);
    return true;
  }

  // Makes the table larger; false if there is no memory for it.
  grow() {
    const buckets = this.slot("BUCKETS");
    const wanted = buckets < this.spec.layout.double_until ? [2, ...GROWTH] : GROWTH;
    const grown = wanted.some((factor) => this.layOut(Math.floor(buckets * factor)));
    if (!grown) return false;
    this.call("grow");
    if (this.slot("STATUS") !== 0) throw new Error("the table of visited states could not be rearranged");
    this.put(this.at.SHARED + 8 * this.slots.NEEDS_GROWTH, 0);
    return true;
  }

  get needsGrowth() {
    return this.get(this.at.SHARED + 8 * this.slots.NEEDS_GROWTH) !== 0;
  }

  get count() {
    return this.slot("COUNT");
  }

  get fired() {
    let sum = 0;
    for (let k = 0; k < this.spec.actions.length; k++) sum += this.get(this.at.ENABLED + 8 * k);
    return sum;
  }

  // Puts the initial states in; false if there is no memory for them.
  receive(states) {
    states.forEach((words, at) => this.putState(this.initial + 8 * this.spec.words * at, words));
    let done = 0;
    for (;;) {
      const begin = this.pointer(this.initial + 8 * this.spec.words * done);
      done += this.call("receive", begin, this.pointer(this.initialActs), BigInt(states.length - done));
      if (done === states.length) return true;
      if (!this.grow()) return false;
    }
  }

  beginLevel() {
    this.put(this.at.BASES, this.count);
    const counters = 8 * Math.max(this.spec.actions.length, 1);
    this.clear(this.at.ENABLED, counters);
    this.clear(this.at.NEW, counters);
    this.clear(this.at.BEST_STATES, 8 * Math.max(this.spec.conditions, 1) * (this.spec.words + 1));
    this.clear(this.at.BEST_STEPS, 8 * this.spec.checks * (this.spec.words + 2));
  }

  // The least violations of the level at hand: states by kernel position, and steps, as [source, action], by bit of their check.
  violations() {
    const { words, conditions, checks } = this.spec;
    const states = new Map();
    const steps = new Map();
    for (let p = 0; p < conditions; p++) {
      const at = this.at.BEST_STATES + 8 * p * (words + 1);
      if (this.get(at)) states.set(p, this.state(at + 8));
    }
    for (let bit = 0; bit < checks; bit++) {
      const at = this.at.BEST_STEPS + 8 * bit * (words + 2);
      if (this.get(at)) steps.set(bit, [this.state(at + 16), this.get(at + 8)]);
    }
    return { states, steps };
  }

  // The least [state, action] among the states begin to end - 1 that leads to a state.
  source(begin, end, target) {
    this.clear(this.at.BEST_SOURCE, 8 * (this.spec.words + 2));
    this.putState(this.target, target);
    this.call("find_source", BigInt(begin), BigInt(end), this.pointer(this.target));
    if (!this.get(this.at.BEST_SOURCE)) throw new Error("no state of a level leads to one of the next");
    return [this.state(this.at.BEST_SOURCE + 16), this.get(this.at.BEST_SOURCE + 8)];
  }

  // -- single states ----------------------------------------------------------------------------------------------

  // The numbers of the actions that are enabled in a state, ascending.
  enabled(state) {
    this.putState(this.own, state);
    this.listed(1, this.pointer(this.own), this.pointer(this.at.COLUMNS), BigInt(Math.ceil(this.spec.block / 8)));
    this.listed(2, this.pointer(this.at.COLUMNS), this.pointer(this.at.ROWS), 1n);
    return this.spec.actions.map((_, number) => number).filter((number) => this.bytes[this.at.ROWS + (number * this.spec.layout.batch) / 8] & 1);
  }

  // The successor of a state under an action that is enabled, and which checks of the step fail, as bits.
  fire(state, action) {
    this.putState(this.own, state);
    this.clear(this.at.LIST, 128);
    const [own, list, out, flags] = [this.own, this.at.LIST, this.at.OUT, this.at.FLAGS].map((at) => this.pointer(at));
    const failed = BigInt.asUintN(64, this.listed(this.firstAction + action, own, list, 1n, out, flags));
    return [this.state(this.at.OUT), failed];
  }

  // The representative of a state's orbit.
  representative(state) {
    this.putState(this.own, state);
    this.listed(3, this.pointer(this.own), 1n);
    return this.state(this.own);
  }
}

// -- what a level means: `checker/question/ledger.py` ------------------------------------------------------------------

class Ledger {
  constructor(spec) {
    this.spec = spec;
    this.findings = new Map(); // By position of a property: { position, depth, state, action }.
    this.met = new Map();
    this.sizes = [];
    this.enabled = 0;
    this.pending = 0;
    this.tie = null;
    this.stopped = null;
  }

  get states() {
    return this.sizes.reduce((sum, size) => sum + size, 0);
  }

  get generated() {
    return (this.sizes[0] || 0) + this.enabled;
  }

  // Shortest first, ties by the order of the question.
  reported() {
    const length = (found) => found.depth + (found.action === null ? 0 : 1);
    const ordered = [...this.findings.values()].sort((a, b) => length(a) - length(b) || a.position - b.position);
    return this.spec.stops_at_first && this.stopped !== "complete" ? ordered.slice(0, 1) : ordered;
  }

  // Takes an expanded level into account; whether to expand the next one.
  commit(level) {
    this.enabled += this.pending;
    this.sizes.push(level.states);
    this.pending = level.fired;
    if (level.steps.has(0)) throw new LeavesDomain({ position: -1, depth: this.sizes.length, state: level.steps.get(0)[0], action: level.steps.get(0)[1] });
    const fresh = this.take(level);
    const isLast = level.next === 0 && level.isExpanded;
    if (this.tie) return this.breakTie(fresh);
    if (fresh.length && this.spec.stops_at_first) {
      const least = this.reported()[0];
      const mayTie = least.action !== null && this.spec.state_properties.some((position) => position < least.position);
      if (!mayTie || isLast) return this.stop("violation");
      this.tie = { sizes: [...this.sizes], enabled: this.enabled, least };
      return level.isExpanded || this.breakTie([]);
    }
    if (isLast) {
      this.enabled += this.pending;
      return this.stop("complete");
    }
    return level.isExpanded || this.stop("memory");
  }

  stop(reason) {
    this.stopped = reason;
    return false;
  }

  take(level) {
    const { state_properties, step_properties, state_probes, step_probes } = this.spec;
    const depth = this.sizes.length;
    const fresh = [];
    for (const [p, state] of level.bad) {
      if (p < state_properties.length) fresh.push({ position: state_properties[p], depth, state, action: null });
      else this.meet(state_probes[p - state_properties.length], depth);
    }
    for (const [bit, [state, action]] of level.steps) {
      if (bit === 0) continue;
      if (bit <= step_properties.length) fresh.push({ position: step_properties[bit - 1], depth, state, action });
      else this.meet(step_probes[bit - 1 - step_properties.length], depth);
    }
    const added = fresh.filter((found) => !this.findings.has(found.position));
    for (const found of added) this.findings.set(found.position, found);
    return added;
  }

  meet(position, depth) {
    if (!this.met.has(position)) this.met.set(position, depth);
  }

  // A step that violates something makes a trace as long as a state of the next level does: the earlier property is reported.
  breakTie(fresh) {
    const { sizes, enabled, least } = this.tie;
    const equal = fresh.filter((found) => found.action === null && found.position < least.position);
    if (equal.length) {
      const best = equal.reduce((a, b) => (b.position < a.position ? b : a));
      this.findings = new Map([[best.position, best]]);
    } else {
      this.findings = new Map([[least.position, least]]);
      this.sizes = sizes;
      this.enabled = enabled;
    }
    return this.stop("violation");
  }
}

class LeavesDomain extends Error {
  constructor(found) {
    super("a step leaves the domain of a field");
    this.found = found;
  }
}

// -- traces: `checker/store/trace_back.py` ----------------------------------------------------------------------------

function same(a, b) {
  return a.every((word, at) => word === b[at]);
}

function before(a, b) {
  const at = a.findIndex((word, number) => word !== b[number]);
  return at >= 0 && a[at] < b[at];
}

class Traces {
  constructor(spec, machine, levels) {
    this.spec = spec;
    this.machine = machine;
    this.levels = levels;
  }

  shortest(found) {
    const run = this.stepsBack(found);
    if (this.spec.is_symmetric) {
      const real = this.realRun(run.states);
      return found.action === null ? real : this.withStep(real, found);
    }
    if (found.action !== null) {
      run.states.push(this.machine.fire(run.states[run.states.length - 1], found.action)[0]);
      run.actions.push(found.action);
    }
    return run;
  }

  stepsBack(found) {
    const states = [found.state];
    const actions = [];
    for (let level = found.depth - 1; level > 0; level--) {
      const [state, action] = this.machine.source(...this.levels[level - 1], states[0]);
      states.unshift(state);
      actions.unshift(action);
    }
    return { states, actions };
  }

  // A run of the protocol through the orbits of these states; always the first action that fits.
  realRun(representatives) {
    const begins = this.spec.originals.map((words) => words.map(BigInt)).filter((state) => same(this.machine.representative(state), representatives[0]));
    const states = [begins.reduce((a, b) => (before(b, a) ? b : a))];
    const actions = [];
    for (const wanted of representatives.slice(1)) {
      const from = states[states.length - 1];
      const action = this.machine.enabled(from).find((number) => same(this.machine.representative(this.machine.fire(from, number)[0]), wanted));
      if (action === undefined) throw new Error("representatives do not make a trace of the protocol");
      states.push(this.machine.fire(from, action)[0]);
      actions.push(action);
    }
    return { states, actions };
  }

  // The run with the first step from its end that violates the step property.
  withStep({ states, actions }, found) {
    const bit = BigInt(1 + this.spec.step_properties.indexOf(found.position));
    const from = states[states.length - 1];
    for (const action of this.machine.enabled(from)) {
      const [target, failed] = this.machine.fire(from, action);
      if ((failed >> bit) & 1n) return { states: [...states, target], actions: [...actions, action] };
    }
    throw new Error("a property is violated up to renaming, but under no renaming");
  }
}

// -- the search ----------------------------------------------------------------------------------------------------

// Expands a level, and as far as memory goes the next; whether all successors are known.
function expanded(machine, begin, end, tell) {
  let done = begin;
  while (done < end || machine.needsGrowth) {
    if (machine.needsGrowth && !machine.grow()) {
      machine.call("inspect", BigInt(done), BigInt(end));
      return false;
    }
    done = machine.call("expand", BigInt(done), BigInt(Math.min(done + CHUNK, end)));
    tell(end - done);
  }
  return true;
}

function searched(machine, spec, ledger, levels, tell) {
  let goesOn = machine.receive(spec.initial.map((words) => words.map(BigInt))) || ledger.stop("memory");
  for (let begin = 0; goesOn; ) {
    const end = machine.count;
    levels.push([begin, end]);
    machine.beginLevel();
    const isExpanded = expanded(machine, begin, end, tell);
    const { states, steps } = machine.violations();
    goesOn = ledger.commit({ states: end - begin, next: machine.count - end, fired: machine.fired, bad: states, steps, isExpanded });
    begin = end;
  }
}

function hex(run) {
  return { states: run.states.map((state) => state.map((word) => `0x${word.toString(16)}`)), actions: run.actions };
}

// Answers the question: visits every state, or finds the shortest violation. `tell` is given the progress now and then. Options:
// `bits`, to have the module of this width; `limits`, less memory. Where 32 bits are too few, it begins anew with 64.
async function search(spec, tell = () => {}, options = {}) {
  const chosen = await chosenModule(spec.modules, options.bits);
  const answer = await searchedWith(chosen, spec, tell, options);
  const isWider = answer.stopped === "memory" && !options.bits && chosen.bits === 32 && "64" in spec.modules;
  return isWider ? search(spec, tell, { ...options, bits: 64 }) : answer;
}

async function searchedWith(chosen, spec, tell, options) {
  const machine = new Machine(spec, chosen, { ...LIMITS, ...options.limits }[chosen.bits]);
  const ledger = new Ledger(spec);
  const levels = [];
  const began = performance.now();
  let told = began;
  const progress = (frontier) => ({
    level: ledger.sizes.length + 1,
    states: machine.count,
    generated: ledger.generated + ledger.pending + machine.fired,
    frontier,
    seconds: (performance.now() - began) / 1000,
    bytes: machine.memory.buffer.byteLength,
  });
  const now = (frontier) => {
    if (performance.now() - told < TELL_MS) return;
    told = performance.now();
    tell(progress(frontier));
  };
  let error = null;
  let violations = [];
  try {
    searched(machine, spec, ledger, levels, now);
    const traces = new Traces(spec, machine, levels);
    violations = ledger.reported().map((found) => ({ property: spec.properties[found.position], position: found.position, ...hex(traces.shortest(found)) }));
  } catch (left) {
    if (!(left instanceof LeavesDomain)) throw left;
    error = `A step leaves the domain of a field, so this protocol is in error: ${spec.actions[left.found.action]} at level ${left.found.depth}; acked check says which field and where it is assigned.`;
  }
  const asks = spec.properties.length > 0 || spec.is_sought;
  return {
    verdict: error ? "error" : violations.length ? "violated" : ledger.stopped === "complete" && asks ? "holds" : "incomplete",
    error,
    stopped: ledger.stopped,
    states: ledger.states,
    generated: ledger.generated,
    levels: ledger.sizes,
    met: spec.probes.map((name, at) => [name, ledger.met.get(at) || null]),
    violations,
    seconds: (performance.now() - began) / 1000,
    bytes: machine.memory.buffer.byteLength,
    bits: chosen.bits,
    module: chosen.bytes,
  };
}

// What there is to say of an answer, as `acked check` says it.
function inWords(answer) {
  const number = (value, name) => `${value.toLocaleString("en-US")} ${name}${value === 1 ? "" : "s"}`;
  const states = number(answer.states, "distinct state");
  if (answer.verdict === "error") return answer.error;
  if (answer.verdict === "holds") return `holds: every reachable state was seen (${states})`;
  if (answer.verdict === "violated") return `violated: ${answer.violations.map((item) => `${item.property} in ${number(item.actions.length, "step")}`).join(", ")}`;
  const covered = `covered: ${number(answer.levels.length, "complete level")}, ${states}`;
  if (answer.stopped === "complete") return `incomplete: every reachable state was seen, but no property was checked; ${covered}`;
  return `incomplete: the browser gave no more memory than ${Math.round(answer.bytes / 1e6).toLocaleString("en-US")} MB, so nothing is decided; ${covered}`;
}
