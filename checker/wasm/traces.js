// From a violation back to an initial state: `checker/store/trace_back.py` once more.

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
