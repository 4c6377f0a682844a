// A protocol under given constants, stepped through here: the layout of a state, its formulas, what actions do.
//
// `data` is a part of what `reports/standalone/protocol.py` makes. A state is the list of its leaves' codes.

// The kinds of nodes: `KINDS` of that module.
export const NODE = Object.fromEntries(["INT", "BOOL", "FIELD", "ADD", "SUB", "MUL", "DIV", "MOD", "BITAND", "BITOR", "BITXOR", "SHL", "SHR", "EQ", "LT", "NOT", "AND", "OR", "ITE", "CHOICE"].map((name, at) => [name, at]));
const WIDE = 32;
const ARGUMENTS = (kind) => (kind >= NODE.ITE ? 3 : kind === NODE.NOT ? 1 : 2);

const NUMBERS = {
  [NODE.ADD]: (a, b) => a + b,
  [NODE.SUB]: (a, b) => a - b,
  [NODE.MUL]: (a, b) => a * b,
  [NODE.DIV]: (a, b) => (typeof a === "bigint" ? (a - (((a % b) + b) % b)) / b : Math.floor(a / b)),
  [NODE.MOD]: (a, b) => ((a % b) + b) % b,
  [NODE.BITAND]: (a, b) => a & b,
  [NODE.BITOR]: (a, b) => a | b,
  [NODE.BITXOR]: (a, b) => a ^ b,
  [NODE.SHL]: (a, b) => a << b,
  [NODE.SHR]: (a, b) => a >> b,
};

// A number of any size: as a number where doubles hold it.
function wide(act, a, b) {
  const value = act(BigInt(a), BigInt(b));
  return BigInt(Number.MIN_SAFE_INTEGER) <= value && value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value;
}

function parts(name) {
  return name.split(/[.[\]]+/).filter(Boolean).map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

// A value as text: `none`, `{0, 2}`, `true`, `7`.
export function inWords(value) {
  if (value === undefined) return "nothing";
  if (value === null) return "none";
  return Array.isArray(value) ? `{${value.map(inWords).join(", ")}}` : String(value);
}

export function valueAt(state, path) {
  let value = state;
  for (const part of path) {
    if (value === undefined || !Object.hasOwn(value, part)) return undefined;
    value = value[part];
  }
  return value;
}

export class Instance {
  constructor(data) {
    this.tree = data.tree;
    this.actions = data.actions;
    this.holds = data.holds;
    this.leaves = data.leaves.map(([name, domain, cardinality, word, shift, bits, path]) => ({
      name,
      path: path || parts(name), // Of a struct in a set the name is not where it is.
      domain: data.domains[domain],
      cardinality,
      word,
      shift: BigInt(shift),
      mask: (1n << BigInt(bits)) - 1n,
    }));
    this.words = data.words;
    this.nodes = this.read(data.nodes);
    this.known = new Map(); // The values of nodes in states that were looked at lately, by their codes.
  }

  read(numbers) {
    const nodes = [];
    for (let at = 0; at < numbers.length; ) {
      const kind = numbers[at] % WIDE;
      const isWide = numbers[at] >= WIDE;
      const args = kind <= NODE.FIELD ? [] : numbers.slice(at + 1, at + 1 + ARGUMENTS(kind));
      const value = kind <= NODE.FIELD ? numbers[at + 1] : null;
      nodes.push({ id: nodes.length, kind, isWide, args, value: typeof value === "string" ? BigInt(value) : value, isBool: kind === NODE.BOOL || (kind >= NODE.EQ && kind !== NODE.ITE) });
      at += 1 + (args.length || 1);
    }
    return nodes;
  }

  // -- formulas ---------------------------------------------------------------------------------------------------

  // The values of all nodes in a state; truth values are 0 and 1.
  values(codes) {
    const key = codes.join();
    if (!this.known.has(key)) {
      if (this.known.size > 200) this.known.clear();
      this.known.set(key, this.evaluated(codes));
    }
    return this.known.get(key);
  }

  evaluated(codes) {
    const values = new Array(this.nodes.length);
    for (const { id, kind, isWide, args, value } of this.nodes) {
      const [a, b] = [values[args[0]], values[args[1]]];
      if (kind <= NODE.BOOL) values[id] = value;
      else if (kind === NODE.FIELD) values[id] = codes[value];
      else if (kind >= NODE.ITE) values[id] = a ? b : values[args[2]];
      // eslint-disable-next-line eqeqeq -- a number and a large one are equal
      else if (kind === NODE.EQ) values[id] = Number(a == b);
      else if (kind === NODE.LT) values[id] = Number(a < b);
      else if (kind === NODE.NOT) values[id] = 1 - a;
      else if (kind === NODE.AND) values[id] = a & b;
      else if (kind === NODE.OR) values[id] = a | b;
      else values[id] = isWide ? wide(NUMBERS[kind], a, b) : NUMBERS[kind](a, b);
    }
    return values;
  }

  // The clauses that forbid an action in a state, as [label, node].
  falseGuards(action, codes) {
    const values = this.values(codes);
    return this.actions[action].guards.filter(([, root]) => !values[root]);
  }

  enabled(codes) {
    return this.actions.map((_, number) => number).filter((number) => this.falseGuards(number, codes).length === 0);
  }

  // The successor by an action that is enabled; null if it leaves the domain of a field, which is an error of the protocol.
  fire(action, codes) {
    const values = this.values(codes);
    const after = codes.slice();
    for (const [leaf, root] of this.actions[action].updates) {
      if (!(values[root] >= 0 && values[root] < this.leaves[leaf].cardinality)) return null;
      after[leaf] = Number(values[root]);
    }
    return after;
  }

  // -- states -----------------------------------------------------------------------------------------------------

  plain({ domain, cardinality }, code) {
    if (domain.kind === "set") return Array.from({ length: Math.round(Math.log2(cardinality)) }, (_, at) => at).filter((at) => (code >> at) & 1);
    if (domain.kind === "flag") return code === 1;
    const place = domain.none ? code - 1 : code;
    if (place < 0) return null;
    return domain.kind === "name" ? domain.names[place] : place + domain.least;
  }

  // The state as nested plain values.
  decode(codes) {
    const grow = (tree) => {
      if (typeof tree === "number") return this.plain(this.leaves[tree], codes[tree]);
      if (Array.isArray(tree)) return tree.map(grow);
      if (tree.struct) return Object.fromEntries(Object.entries(tree.struct).map(([name, part]) => [name, grow(part)]));
      if (tree.counts) return tree.counts.flatMap(([leaf, value]) => Array(codes[leaf]).fill(value));
      const end = codes[tree.log];
      return { end, records: tree.records.slice(0, end).map(grow) };
    };
    return grow(this.tree);
  }

  // The inverse; null if a value has no place here.
  encode(state) {
    const counted = this.counted(this.tree, state, []);
    const codes = this.leaves.map((leaf, at) => {
      if (counted[at] !== undefined) return counted[at];
      const value = valueAt(state, leaf.path);
      const { kind, least, none } = leaf.domain;
      if (value === undefined || value === null) return 0;
      if (kind === "set") return value.reduce((mask, member) => mask | (1 << member), 0);
      if (kind === "flag") return Number(value);
      return (kind === "name" ? leaf.domain.names.indexOf(value) : value - least) + (none ? 1 : 0);
    });
    return codes.every((code, at) => code >= 0 && code < this.leaves[at].cardinality) ? codes : null;
  }

  // How often lists have the values whose number leaves count, by leaf.
  counted(tree, value, found) {
    if (typeof tree === "number" || tree.log !== undefined) return found;
    if (tree.counts) for (const [leaf, one] of tree.counts) found[leaf] = value.filter((other) => JSON.stringify(other) === JSON.stringify(one)).length;
    else for (const [name, part] of Object.entries(tree.struct || tree)) this.counted(part, value[name], found);
    return found;
  }

  // Where sets and bags of structs are, with the leaf that counts a struct, and the struct.
  messages(tree = this.tree, path = []) {
    if (typeof tree === "number" || tree.log !== undefined) return [];
    if (tree.counts) return [[path.join("."), tree.counts]];
    return Object.entries(tree.struct || tree).flatMap(([name, part]) => this.messages(part, [...path, name]));
  }

  pack(codes) {
    const words = new Array(this.words).fill(0n);
    this.leaves.forEach(({ word, shift }, at) => (words[word] |= BigInt(codes[at]) << shift));
    return words;
  }

  unpack(words) {
    return this.leaves.map(({ word, shift, mask }) => Number((words[word] >> shift) & mask));
  }

  // Every leaf in words, as it stands in a decoded state.
  texts(state) {
    const counted = this.counted(this.tree, state, []);
    const number = (at) => (this.leaves[at].domain.kind === "flag" ? counted[at] > 0 : counted[at]);
    return this.leaves.map(({ path }, at) => inWords(at in counted ? number(at) : valueAt(state, path)));
  }
}
