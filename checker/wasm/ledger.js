// What a level means: `checker/question/ledger.py` once more.

class Ledger {
  // `only`: the position of the one property that counts, if not all do.
  constructor(spec, only = null) {
    this.spec = spec;
    this.only = only;
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
    const added = fresh.filter((found) => !this.findings.has(found.position) && (this.only === null || this.only === found.position));
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
