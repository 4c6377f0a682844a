// The memory of a search, and the calls into its module: what `checker/shards` is around the native loops, with one worker.

const PAGE = 65536;
const GROWTH = [1.5, 1.25]; // Of a large table; where memory is short, less of it.
const LEAST_BUCKETS = 512;

// What a browser cannot do or has no room for, in one sentence for people.
class Refusal extends Error {}

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

  // A state by its number among those that were found.
  found(number) {
    return this.state(this.statesAt + 8 * this.spec.words * number);
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
      COLUMNS: 8 * batch * spec.words + 64,
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
    this.listed(1, this.pointer(this.own), this.pointer(this.at.COLUMNS), 1n);
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
