// What the explorer asks the reader's own browser, in pages without a server: `checker/wasm/explore.js` in a worker.

const counted = (value, name) => `${value.toLocaleString("en-US")} ${name}${value === 1 ? "" : "s"}`;

export class Tab {
  constructor(script, walk, constants) {
    this.address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
    this.instance = walk.teller.search;
    this.constants = constants;
    this.deep = null; // The worker that knows depths; it is kept.
    this.asking = Promise.resolve();
  }

  state(codes) {
    return this.instance.pack(codes).map(String);
  }

  // The leaves as predicates know them.
  get fields() {
    const { leaves } = this.instance;
    const at = new Map(leaves.map((leaf, number) => [leaf.path.join("."), number]));
    return {
      constants: this.constants,
      messages: Object.fromEntries(this.instance.messages()),
      leaves: leaves.map(({ name, path, domain, cardinality, word, shift, mask }, number) => ({
        at: number, name, path, domain, cardinality, word, shift: Number(shift), bits: mask.toString(2).length, record: recordOf(path, at),
      })),
    };
  }

  async find({ path, codes }, wanted, signal, tell = () => {}) {
    const isPredicate = "predicate" in wanted;
    const body = isPredicate ? { task: "find", predicate: wanted.predicate, fields: this.fields } : { task: "violate", promise: wanted.promise };
    const worker = new Worker(this.address);
    signal.addEventListener("abort", () => worker.terminate());
    const answer = await this.answer(worker, { ...body, from: this.state(codes) }, (progress) => tell(`level ${progress.level}, ${counted(progress.states, "state")}`));
    worker.terminate();
    if (!answer.actions) return { path: null, says: nothingFound(answer, isPredicate) };
    const steps = answer.actions.length;
    const where = steps ? `found ${counted(steps, "step")} away` : "it holds in this state";
    return { path: [...path, ...answer.actions], says: isPredicate ? where : `${answer.property} is broken ${counted(steps, "step")} from here` };
  }

  depth({ path, codes }) {
    this.deep ||= new Worker(this.address);
    // One question at a time: answers come in the order of the questions.
    const asked = this.asking.then(() => this.answer(this.deep, { task: "depth", state: this.state(codes) }));
    this.asking = asked.catch(() => {});
    return asked.then(({ least, isExact, states }) => ({ least, most: isExact ? least : path.length, states }));
  }

  answer(worker, body, tell = () => {}) {
    return new Promise((done, fail) => {
      worker.onmessage = ({ data }) => (data.progress ? tell(data.progress) : data.answer ? done(data.answer) : fail(new Error(data.refusal)));
      worker.onerror = (event) => fail(new Error(`the search ended, perhaps for want of memory: ${event.message || "the browser ended its worker"}`));
      worker.postMessage(body);
    });
  }
}

// Of a field of a log's record: the leaf of the log's end, and its offset.
function recordOf(path, leaves) {
  const at = path.indexOf("records");
  const end = at < 0 ? undefined : leaves.get([...path.slice(0, at), "end"].join("."));
  return end === undefined || typeof path[at + 1] !== "number" ? null : { end, offset: path[at + 1] };
}

function nothingFound({ isWhole, states }, isPredicate) {
  const seen = counted(states, "state");
  if (isWhole) return `unreachable from here: none of the ${seen} that can follow ${isPredicate ? "satisfies it" : "breaks it"}`;
  return `${isPredicate ? "not found" : "no step or state that breaks it"} among the nearest ${seen}: there are more, and this tab has no more memory`;
}
