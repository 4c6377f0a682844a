// Why a clause or a promise is false in a state: `checker/replay/explain.py` once more.

import { NODE, inWords } from "./instance.js";

function union(lists) {
  return [...new Set(lists.flat())];
}

function shortest(lists) {
  return lists.reduce((a, b) => (b.length < a.length ? b : a));
}

// Explains formulas of one instance in one state.
export class Explainer {
  constructor(instance, codes) {
    this.instance = instance;
    this.nodes = instance.nodes;
    this.codes = codes;
    this.values = instance.values(codes);
    this.chosen = new Map();
  }

  // The false clauses of an action, each with what decides it.
  refusal(action) {
    return this.instance.falseGuards(action, this.codes).map(([label, root]) => ({ label, reasons: this.why(root) }));
  }

  why(root) {
    return [...new Set(this.decisive(root).map((at) => this.text(this.nodes[at])))];
  }

  // Of a false conjunction every conjunct that is false, as what decides it.
  failingConjuncts(root) {
    const found = new Map();
    for (const part of this.conjuncts(root)) {
      if (this.values[part]) continue;
      const texts = this.why(part);
      found.set(JSON.stringify(texts), texts);
    }
    return [...found.values()];
  }

  conjuncts(root) {
    const { kind, args } = this.nodes[root];
    return kind === NODE.AND ? args.flatMap((part) => this.conjuncts(part)) : [root];
  }

  // Comparisons whose values alone decide a node's; where one operand suffices, the shorter story.
  decisive(at) {
    if (!this.chosen.has(at)) this.chosen.set(at, this.decided(this.nodes[at]));
    return this.chosen.get(at);
  }

  decided({ id, kind, args, isBool }) {
    if (!isBool || kind < NODE.FIELD) return [];
    if (kind === NODE.NOT) return this.decisive(args[0]);
    if (kind === NODE.AND || kind === NODE.OR) {
      const stops = Number(kind === NODE.OR);
      if (this.values[id] === stops) return shortest(args.filter((part) => this.values[part] === stops).map((part) => this.decisive(part)));
      return union(args.map((part) => this.decisive(part)));
    }
    if (kind === NODE.CHOICE) return union([this.decisive(args[0]), this.decisive(this.taken(args))]);
    if (kind === NODE.EQ && this.nodes[args[0]].isBool) return union(args.map((part) => this.decisive(part)));
    return [id];
  }

  taken([test, then, other]) {
    return this.values[test] ? then : other;
  }

  // The leaves that a comparison's value depends on, along the branches taken in this state.
  fields(at, found = new Set()) {
    const { kind, args, value } = this.nodes[at];
    if (kind === NODE.FIELD) found.add(value);
    else for (const part of kind === NODE.ITE || kind === NODE.CHOICE ? [args[0], this.taken(args)] : args) this.fields(part, found);
    return found;
  }

  text(atom) {
    const { id, kind, args } = atom;
    const holds = Boolean(this.values[id]);
    if (kind === NODE.EQ || kind === NODE.LT) {
      const told = this.aboutOneField(atom, holds) || this.aboutMembers(atom);
      if (told) return told;
      if (kind === NODE.LT && args.every((side) => this.nodes[side].kind === NODE.FIELD)) {
        const [less, more] = args.map((side) => this.is(this.nodes[side].value));
        return `${less}, ${holds ? "" : "not "}below ${more.replaceAll(" is ", " = ")}`;
      }
    }
    return [...this.fields(id)].sort((a, b) => a - b).map((leaf) => this.is(leaf)).join(" and ");
  }

  is(leaf) {
    return `${this.instance.leaves[leaf].name} is ${this.plain(leaf, this.codes[leaf])}`;
  }

  plain(leaf, code) {
    return inWords(this.instance.plain(this.instance.leaves[leaf], code));
  }

  // `log[0].end is 2, not below 2`, where a field is compared with a value of its own domain.
  aboutOneField({ kind, args }, holds) {
    const sides = args.map((side) => this.nodes[side]);
    const at = sides.findIndex((side) => side.kind === NODE.FIELD);
    if (at < 0 || sides[1 - at].kind !== NODE.INT) return null;
    const [leaf, constant] = [sides[at].value, sides[1 - at].value];
    const text = this.is(leaf);
    if (!(constant >= 0 && constant < this.instance.leaves[leaf].cardinality)) return text;
    const other = this.plain(leaf, constant);
    if (kind === NODE.EQ) return holds ? text : `${text}, not ${other}`;
    return `${text}, ${holds ? "" : "not "}${at === 0 ? "below" : "above"} ${other}`;
  }

  // `quorum.isr is {0, 1}, without 2`, where bits of a set are tested.
  aboutMembers({ kind, args }) {
    const [first, second] = args.map((side) => this.nodes[side]);
    if (kind !== NODE.EQ || first.kind !== NODE.BITAND || second.kind !== NODE.INT) return null;
    const sides = first.args.map((side) => this.nodes[side]);
    const [field, constant] = [sides.find((side) => side.kind === NODE.FIELD), sides.find((side) => side.kind === NODE.INT)];
    if (!field || !constant) return null;
    const { domain } = this.instance.leaves[field.value];
    if (domain.kind !== "set" || !domain.bare) return null;
    const [mask, code] = [constant.value, this.codes[field.value]];
    const listed = (members) => this.plain(field.value, members).replace(/^\{|\}$/g, "");
    const text = this.is(field.value);
    return code & mask ? `${text}, with ${listed(code & mask)}` : `${text}, without ${listed(mask & ~code)}`;
  }
}
