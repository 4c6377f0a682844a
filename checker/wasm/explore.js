// Where the script of the explorer begins, in a worker: it looks for the nearest state of a kind from a state on, and for the depth
// of states. Of `data`: `task`, and what that takes; states are lists of words as texts.

const MOST_DEEP = 1e6; // States that are looked at for depths.

// The code of a leaf in the state at hand, of words in memory.
class Codes {
  constructor(machine, leaves) {
    const wide = leaves.find(({ bits }) => bits > 31);
    if (wide) throw new Refusal(`${wide.name} has ${wide.bits} bits, and a page looks for fields of at most 31.`);
    this.machine = machine;
    this.places = leaves.map(({ word, shift, bits }) => ({ word: 2 * word, shift, mask: 2 ** bits - 1 }));
    this.number = 0;
  }

  // After memory grew, it is elsewhere.
  refresh() {
    this.halves = new Uint32Array(this.machine.memory.buffer);
    this.base = this.machine.statesAt / 4;
  }

  code(leaf) {
    const { word, shift, mask } = this.places[leaf];
    const at = this.base + 2 * this.machine.spec.words * this.number + word;
    if (shift >= 32) return (this.halves[at + 1] >>> (shift - 32)) & mask;
    const low = this.halves[at] >>> shift;
    return (shift ? low | (this.halves[at + 1] << (32 - shift)) : low) & mask;
  }
}

function progressOf(machine, levels, began) {
  return { level: levels.length, states: machine.count, seconds: (performance.now() - began) / 1000, bytes: machine.memory.buffer.byteLength };
}

async function machineFrom(from) {
  return new Machine({ ...SPEC, initial: [from] }, await chosenModule(SPEC.modules), LIMITS[32]);
}

// Visits the states that can follow level by level, as long as `look(begin, end)` finds nothing and memory suffices.
function followed(machine, from, look, mostStates = Infinity) {
  const [levels, began] = [[], performance.now()];
  let told = began;
  const tell = () => {
    if (performance.now() - told < TELL_MS) return;
    told = performance.now();
    postMessage({ progress: progressOf(machine, levels, began) });
  };
  let isKnown = machine.receive([from.map(BigInt)]);
  for (let begin = 0; ; ) {
    const end = machine.count;
    if (begin === end) return { levels, isWhole: isKnown };
    levels.push([begin, end]);
    const found = look(begin, end, levels.length);
    if (found || !isKnown || end > mostStates) return { levels, found, isWhole: false };
    machine.beginLevel();
    isKnown = expanded(machine, begin, end, tell);
    const { steps } = machine.violations();
    if (steps.has(0)) throw new Refusal(`A step leaves the domain of a field, so this protocol is in error: ${SPEC.actions[steps.get(0)[1]]} at level ${levels.length}.`);
    begin = end;
  }
}

// A shortest path from a state to one in which a predicate holds, the least of them.
async function find({ from, predicate, fields }) {
  const machine = await machineFrom(from);
  const codes = new Codes(machine, fields.leaves);
  const holds = predicateOf(predicate, fields, (leaf) => codes.code(leaf));
  const look = (begin, end, depth) => {
    let least = null;
    codes.refresh();
    for (codes.number = begin; codes.number < end; codes.number += 1) {
      if (!holds()) continue;
      const state = machine.found(codes.number);
      if (!least || before(state, least)) least = state;
    }
    return least && { state: least, depth, action: null };
  };
  const { levels, found, isWhole } = followed(machine, from, look);
  const actions = found ? new Traces({ ...SPEC, is_symmetric: false }, machine, levels).shortest(found).actions : null;
  return { actions, isWhole, states: machine.count };
}

// The same to a state or a step that breaks a promise: one of them, or any.
async function violate({ from, promise }) {
  const answer = await search(SPEC, (progress) => postMessage({ progress }), { from, only: promise === null ? null : SPEC.properties.indexOf(promise) });
  if (answer.error) throw new Refusal(answer.error);
  const [found] = answer.violations;
  return { actions: found ? found.actions : null, property: found && found.property, isWhole: answer.stopped === "complete", states: answer.states };
}

let explored = null;

// How deep a state lies: its level among the nearest states, which are looked at once.
async function depth({ state }) {
  if (!explored) {
    const machine = await machineFrom(SPEC.initial[0]);
    explored = { machine, ...followed(machine, SPEC.initial[0], () => null, MOST_DEEP) };
  }
  const { machine, levels } = explored;
  const wanted = state.map(BigInt);
  for (const [at, [begin, end]] of levels.entries()) {
    for (let number = begin; number < end; number++) if (same(machine.found(number), wanted)) return { least: at, isExact: true, states: machine.count };
  }
  return { least: levels.length, isExact: false, states: machine.count };
}

const TASKS = { find, violate, depth };

onmessage = async ({ data }) => {
  try {
    postMessage({ answer: await TASKS[data.task](data) });
  } catch (error) {
    postMessage({ refusal: whyNot(error) });
  }
};
