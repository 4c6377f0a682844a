// The search of one question with its WebAssembly module, with one worker: the entry is `search`.
//
// The files of this folder become one script without imports, which runs in a worker of a page, in Node and from a file. `spec`
// is made by `checker/wasm/script.py`: sizes and numbers of slots (`layout`), the question, and its modules.

const CHUNK = 1 << 15; // States that are expanded between two looks at the clock.
const TELL_MS = 100;
const LIMITS = { 32: 2 ** 32, 64: 2 ** 34 }; // Bytes of memory, by the bits of an address.

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

// The state that a search begins with, where it is not the initial one.
function begun(spec, from) {
  return from ? { ...spec, initial: [from], stops_at_first: true } : spec;
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
// `bits`, to have the module of this width; `limits`, less memory; `from`, a state to begin with, and `only`, the position of the
// property that counts, both of a question without symmetry. Where 32 bits are too few, it begins anew with 64.
async function search(spec, tell = () => {}, options = {}) {
  const chosen = await chosenModule(spec.modules, options.bits);
  const answer = await searchedWith(chosen, spec, tell, options);
  const isWider = answer.stopped === "memory" && !options.bits && chosen.bits === 32 && "64" in spec.modules;
  return isWider ? search(spec, tell, { ...options, bits: 64 }) : answer;
}

async function searchedWith(chosen, asked, tell, options) {
  const spec = begun(asked, options.from);
  const machine = new Machine(spec, chosen, { ...LIMITS, ...options.limits }[chosen.bits]);
  const ledger = new Ledger(spec, options.only);
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

function whyNot(error) {
  return error instanceof Refusal ? error.message : `The search ended without an answer: ${error.message}.`;
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
