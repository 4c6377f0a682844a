// Predicates that people type, in a page: the language of `checker/predicate/parse.py`, as functions of a state's codes.
//
// `predicateOf` reads a text and gives a function that is true where it holds; `Refusal` says what is wrong and where. As there,
// everything of a record past a log's end is None, and None is equal to nothing else and in nothing.

const SIGNS = /^(?:==|!=|<=|>=|[-+*<>(){}[\],.])/;
const TEXT = /^(?:"[^"]*"|'[^']*')/;
const WORD = /^[A-Za-z_][A-Za-z0-9_]*/;
const KEYWORDS = new Set(["and", "or", "not", "in", "is", "if", "else", "for", "True", "False", "None"]);
const MOST_CASES = 50000;
const MOST_PARTS = 20000;
const LENGTH = 2000;

function refuseAt(at, message) {
  throw new Refusal(`column ${at + 1}: ${message}`);
}

function kindOf(text) {
  if (/^\d/.test(text)) return "number";
  if (TEXT.test(text)) return "text";
  return WORD.test(text) && !KEYWORDS.has(text) ? "name" : "sign";
}

function tokensOf(text) {
  const found = [];
  for (let at = 0; at < text.length; ) {
    const rest = text.slice(at);
    const blank = /^\s+/.exec(rest);
    const taken = blank || /^\d+/.exec(rest) || WORD.exec(rest) || TEXT.exec(rest) || SIGNS.exec(rest);
    if (!taken) refuseAt(at, `${JSON.stringify(rest[0])} is not part of the language of predicates`);
    if (!blank) found.push({ text: taken[0], at, kind: kindOf(taken[0]) });
    at += taken[0].length;
  }
  return [...found, { text: "", at: text.length, kind: "end" }];
}

// A text as a tree of { type, at, … }.
class Reader {
  constructor(text) {
    this.tokens = tokensOf(text);
    this.place = 0;
  }

  get token() {
    return this.tokens[this.place];
  }

  is(...texts) {
    return this.token.kind === "sign" && texts.includes(this.token.text);
  }

  take(text) {
    if (!this.is(text)) this.fail();
    return this.tokens[this.place++];
  }

  fail() {
    const { text, at } = this.token;
    refuseAt(at, text ? `the predicate cannot be read at ${JSON.stringify(text)}` : "the predicate ends where more is to come");
  }

  whole() {
    const tree = this.expression();
    if (this.token.kind !== "end") this.fail();
    return tree;
  }

  expression() {
    const then = this.either();
    if (!this.is("if")) return then;
    this.take("if");
    const test = this.either();
    this.take("else");
    return { type: "choice", at: then.at, parts: [test, then, this.expression()] };
  }

  either() {
    return this.chain("or", () => this.chain("and", () => this.negation()));
  }

  chain(word, read) {
    const parts = [read()];
    while (this.is(word)) {
      this.take(word);
      parts.push(read());
    }
    return parts.length > 1 ? { type: word, at: parts[0].at, parts } : parts[0];
  }

  negation() {
    if (!this.is("not")) return this.comparison();
    const { at } = this.take("not");
    return { type: "not", at, parts: [this.negation()] };
  }

  comparison() {
    const parts = [this.sum()];
    const signs = [];
    while (this.is("==", "!=", "<", "<=", ">", ">=", "in", "is", "not")) {
      const { text } = this.tokens[this.place++];
      if (text === "not") this.take("in");
      const isNot = text === "is" && this.is("not") && this.take("not");
      signs.push(text === "not" ? "not in" : isNot ? "!=" : text === "is" ? "==" : text);
      parts.push(this.sum());
    }
    return signs.length ? { type: "compare", at: parts[0].at, parts, signs } : parts[0];
  }

  sum() {
    return this.calculation(["+", "-"], () => this.calculation(["*"], () => this.signed()));
  }

  calculation(signs, read) {
    let left = read();
    while (this.is(...signs)) {
      const { text } = this.tokens[this.place++];
      left = { type: text, at: left.at, parts: [left, read()] };
    }
    return left;
  }

  signed() {
    if (!this.is("-")) return this.primary();
    const { at } = this.take("-");
    return { type: "minus", at, parts: [this.signed()] };
  }

  primary() {
    let node = this.atom();
    for (;;) {
      if (this.is(".")) {
        this.take(".");
        if (this.token.kind !== "name") this.fail();
        node = { type: "part", at: node.at, of: node, name: this.tokens[this.place++].text };
      } else if (this.is("[")) {
        this.take("[");
        node = { type: "part", at: node.at, of: node, index: this.expression() };
        this.take("]");
      } else if (this.is("(") && node.type === "name") node = this.call(node);
      else return node;
    }
  }

  call({ name, at }) {
    this.take("(");
    const parts = this.is(")") ? [] : [this.expression()];
    const loops = [];
    while (this.is("for")) loops.push(this.loop());
    while (!loops.length && this.is(",")) {
      this.take(",");
      parts.push(this.expression());
    }
    this.take(")");
    return { type: "call", at, name, parts, loops };
  }

  loop() {
    this.take("for");
    const { text, at, kind } = this.tokens[this.place++];
    if (kind !== "name") refuseAt(at, "write one name, such as r in any(… for r in …)");
    this.take("in");
    const over = this.either();
    const tests = [];
    while (this.is("if")) {
      this.take("if");
      tests.push(this.either());
    }
    return { name: text, at, over, tests };
  }

  atom() {
    const { text, at, kind } = this.token;
    if (kind === "end" || (kind === "sign" && !["(", "{", "True", "False", "None"].includes(text))) this.fail();
    this.place += 1;
    if (kind === "number") return { type: "number", at, value: Number(text) };
    if (kind === "text") return { type: "text", at, value: text.slice(1, -1) };
    if (kind === "name") return { type: "name", at, name: text };
    if (text === "(") {
      const inner = this.expression();
      this.take(")");
      return inner;
    }
    if (text !== "{") return { type: text, at };
    const parts = this.is("}") ? [] : [this.expression()];
    while (this.is(",")) {
      this.take(",");
      parts.push(this.expression());
    }
    this.take("}");
    return { type: "set", at, parts };
  }
}

function ones(mask) {
  let count = 0;
  for (let rest = mask; rest; rest &= rest - 1) count += 1;
  return count;
}

const CALCULATED = { "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b };
const ORDER = { "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b };

// What a tree means, as { kind, sort, lo, hi, get }: `get` gives a number, a set as a mask, or a truth value; null for None.
class Lowering {
  // `fields`: leaves (name, path, domain, cardinality, end and offset of a record's), constants by name, and by path of a set or
  // bag of structs the leaf that counts a struct, and the struct.
  constructor(fields, read) {
    this.leaves = new Map(fields.leaves.map((leaf) => [leaf.path.join("."), leaf]));
    this.paths = new Set(["", ...fields.leaves.flatMap(({ path }) => path.map((_, at) => path.slice(0, at + 1).join(".")))]);
    this.constants = fields.constants;
    this.messages = fields.messages || {};
    this.most = fields.leaves.map(({ cardinality }) => cardinality - 1);
    this.readCode = read;
    this.cases = 0;
    this.count = 0;
  }

  condition(node, names) {
    this.count += 1;
    if (this.count > MOST_PARTS) refuseAt(node.at, `this has more than ${MOST_PARTS.toLocaleString("en-US")} parts; quantify over less`);
    if (node.type === "and" || node.type === "or") {
      const parts = node.parts.map((part) => this.condition(part, names));
      return node.type === "and" ? () => parts.every((holds) => holds()) : () => parts.some((holds) => holds());
    }
    if (node.type === "not") {
      const holds = this.condition(node.parts[0], names);
      return () => !holds();
    }
    if (node.type === "choice") {
      const [test, then, other] = node.parts.map((part) => this.condition(part, names));
      return () => (test() ? then() : other());
    }
    if (node.type === "compare") return this.comparison(node, names);
    const value = this.value(node, names);
    if (value.kind !== "flag") refuseAt(node.at, "this is not a condition; compare it with something");
    return () => value.get() === true;
  }

  comparison({ parts, signs }, names) {
    const values = parts.map((part) => this.named(part) || this.value(part, names));
    const compared = signs.map((sign, at) => this.compared(sign, values[at], values[at + 1], parts[at + 1].at));
    return () => compared.every((holds) => holds());
  }

  // A name that is written out, or a set of them.
  named(node) {
    const parts = node.type === "set" ? node.parts : [node];
    if (!parts.length || parts.some((part) => part.type !== "text")) return null;
    const texts = parts.map((part) => part.value);
    return { kind: "name", sort: null, isWritten: true, isSet: node.type === "set", texts, get: () => texts[0] };
  }

  // Names are compared with a field that holds one of several.
  comparedNames(sign, a, b, at) {
    const [field, written] = a.isWritten ? [b, a] : [a, b];
    const isSingle = ["==", "!="].includes(sign) && !written.isSet;
    if (field.isWritten || field.kind !== "name" || !(isSingle || (["in", "not in"].includes(sign) && b.isSet))) refuseAt(at, "a name is compared with a field that holds one of several names, by ==, != or in {…}");
    const other = written.isWritten && !written.isNone ? written.texts.find((text) => !field.names.includes(text)) : undefined;
    if (other !== undefined) refuseAt(at, `${JSON.stringify(other)} is not one of ${field.names.join(", ")}`);
    if (isSingle) return sign === "==" ? () => a.get() === b.get() : () => a.get() !== b.get();
    const isIn = () => a.get() !== null && b.texts.includes(a.get());
    return sign === "in" ? isIn : () => !isIn();
  }

  compared(sign, a, b, at) {
    if (a.kind === "name" || b.kind === "name") return this.comparedNames(sign, a, b, at);
    const sorts = new Set([a, b].filter(({ sort }) => sort).map(({ sort }) => sort));
    if (sorts.size > 1) refuseAt(at, `a ${a.sort} is compared with a ${b.sort}`);
    if (sorts.size && [a, b].some((value) => value.kind === "number" && !value.sort && value.lo !== value.hi)) refuseAt(at, `a ${[...sorts][0]} is compared with a number that counts something else`);
    if (sign === "in" || sign === "not in") {
      if (a.kind !== "number" || b.kind !== "set") refuseAt(at, "`in` asks whether a number is in a set");
      const isIn = () => a.get() !== null && b.get() !== null && a.get() >= 0 && ((b.get() >> a.get()) & 1) === 1;
      return sign === "in" ? isIn : () => !isIn();
    }
    if (a.kind !== b.kind && !a.isNone && !b.isNone) refuseAt(at, "compare numbers with numbers, sets with sets such as {0, 1}, and None with either field or None");
    if (sign === "==" || sign === "!=") {
      this.refuseImpossible(a, b, at);
      return sign === "==" ? () => a.get() === b.get() : () => a.get() !== b.get();
    }
    if (a.kind !== "number" || b.kind !== "number") refuseAt(at, `${a.kind === "set" ? "sets" : "conditions"} are compared with == and !=`);
    if (sorts.size) refuseAt(at, "ids have no order; compare them with ==, != and in");
    const holds = ORDER[sign];
    return () => a.get() !== null && b.get() !== null && holds(a.get(), b.get());
  }

  // A value that a field never has is a mistake.
  refuseImpossible(a, b, at) {
    for (const [written, field] of [[a, b], [b, a]]) {
      if (!written.isWritten || field.isWritten || field.isKnown || written.isNone || field.kind === "flag") continue;
      const isThere = field.kind === "set" ? (written.lo & ~field.hi) === 0 : field.lo <= written.lo && written.lo <= field.hi;
      if (!isThere) refuseAt(at, "a field never has this value, so this is the same in every state");
    }
  }

  // -- any, all, count, len -----------------------------------------------------------------------------------------

  call(node, names) {
    if (node.name === "implies" && node.parts.length === 2 && !node.loops.length) {
      const [given, then] = node.parts.map((part) => this.condition(part, names));
      return this.flag(() => !given() || then());
    }
    if (node.name === "len" && node.parts.length === 1 && !node.loops.length) {
      const structs = this.structs(node.parts[0], names);
      if (structs) return { kind: "number", sort: null, lo: 0, hi: structs.length, get: () => structs.filter(([, isThere]) => isThere()).length };
      const end = this.endOf(node.parts[0], names);
      if (end) return this.held(end);
      const held = this.value(node.parts[0], names);
      if (held.kind !== "set") refuseAt(node.at, "len(…) counts the members of a set");
      return { kind: "number", sort: null, lo: 0, hi: ones(held.hi), get: () => (held.get() === null ? null : ones(held.get())) };
    }
    if (!["any", "all", "count"].includes(node.name) || !node.loops.length) refuseAt(node.at, "the only calls are any(…), all(…) and count(…), each of `… for r in …`, len(…) of a set, and implies(A, B)");
    const cases = this.unrolled(node, names).map(([meant, bound]) => [meant, this.condition(node.parts[0], bound)]);
    if (node.name === "any") return this.flag(() => cases.some(([meant, holds]) => meant() && holds()));
    if (node.name === "all") return this.flag(() => cases.every(([meant, holds]) => !meant() || holds()));
    return { kind: "number", sort: null, lo: 0, hi: cases.length, get: () => cases.filter(([meant, holds]) => meant() && holds()).length };
  }

  flag(get) {
    return { kind: "flag", sort: null, get };
  }

  unrolled(node, names) {
    let cases = [[() => true, names]];
    for (const { name, at, over, tests } of node.loops) {
      if (name in this.constants || this.paths.has(name)) refuseAt(at, `'${name}' is a name of the protocol; use another, such as r`);
      cases = cases.flatMap(([meant, bound]) =>
        this.members(over, bound).map(([value, isMember]) => {
          const inner = { ...bound, [name]: value };
          const conditions = [meant, isMember, ...tests.map((test) => this.condition(test, inner))];
          return [() => conditions.every((holds) => holds()), inner];
        })
      );
      this.cases += cases.length;
      if (this.cases > MOST_CASES) refuseAt(node.at, `this has more than ${MOST_CASES.toLocaleString("en-US")} cases; quantify over less`);
    }
    return cases;
  }

  // Every struct that a set or a bag may have, as often as it may, and where it is there; null of any other term.
  structs(node, names) {
    if (!["name", "part"].includes(node.type) || (node.type === "name" && (node.name in names || !this.paths.has(node.name)))) return null;
    if (node.type === "part" && this.ofMember(node, names)) return null;
    const held = this.messages[this.path(node, names).join(".")];
    const read = this.readCode;
    const copies = ([leaf, struct]) => Array.from({ length: this.most[leaf] }, (_, times) => [{ struct, held }, () => read(leaf) > times]);
    return held ? held.flatMap(copies) : null;
  }

  // A field of a struct that a name stands for; null of any other term.
  ofMember(node, names) {
    let whole = node;
    const parts = [];
    for (; whole.type === "part" && whole.name; whole = whole.of) parts.unshift(whole.name);
    const member = whole.type === "name" ? names[whole.name] : undefined;
    if (typeof member !== "object") return null;
    const inside = (struct) => parts.reduce((value, part) => (value !== null && typeof value === "object" && Object.hasOwn(value, part) ? value[part] : undefined), struct);
    const value = inside(member.struct);
    if (value === undefined || (value !== null && typeof value === "object" && !Array.isArray(value))) refuseAt(node.at, `this is no field; it has ${Object.keys(member.struct).join(", ")}`);
    if (value === null) return { kind: "number", sort: null, lo: 0, hi: 0, isNone: true, get: () => null };
    if (typeof value === "string") return { kind: "name", sort: null, names: member.held.map(([, struct]) => inside(struct)), get: () => value };
    if (typeof value === "boolean") return this.flag(() => value);
    const mask = Array.isArray(value) ? value.reduce((sum, one) => sum | (1 << one), 0) : value;
    return { ...this.written(mask), kind: Array.isArray(value) ? "set" : "number", isWritten: false, isKnown: true };
  }

  members(node, names) {
    const structs = this.structs(node, names);
    if (structs) return structs;
    const counted = (from, to) => Array.from({ length: Math.max(0, to - from) }, (_, at) => [from + at, () => true]);
    if (node.type === "name" && node.name in this.constants) return counted(0, this.constants[node.name]);
    if (node.type === "call" && node.name === "range" && !node.loops.length && node.parts.length >= 1 && node.parts.length <= 2) {
      const bounds = node.parts.map((part) => this.number(part, names));
      if (Math.max(...bounds.map(Math.abs)) > MOST_CASES) refuseAt(node.at, `this has more than ${MOST_CASES.toLocaleString("en-US")} cases; quantify over less`);
      return bounds.length === 1 ? counted(0, bounds[0]) : counted(...bounds);
    }
    if (["name", "part", "set"].includes(node.type)) {
      const set = this.value(node, names);
      if (set.kind === "set") return counted(0, 32 - Math.clz32(set.hi)).map(([at]) => [at, () => set.get() !== null && ((set.get() >> at) & 1) === 1]);
    }
    return refuseAt(node.at, `write any(… for r in …) over one of the constants, which are ${Object.keys(this.constants).join(", ")}, or over a set`);
  }

  // -- other values -------------------------------------------------------------------------------------------------

  written(value) {
    return { kind: "number", sort: null, lo: value, hi: value, isWritten: true, get: () => value };
  }

  value(node, names) {
    this.count += 1;
    switch (node.type) {
      case "number":
        return this.written(node.value);
      case "text":
        return refuseAt(node.at, `${JSON.stringify(node.value)} is a name, which is compared with a field`);
      case "None":
        return { kind: "number", sort: null, lo: 0, hi: 0, isNone: true, isWritten: true, get: () => null };
      case "True":
      case "False":
        return this.flag(() => node.type === "True");
      case "minus":
        return this.written(-this.number(node.parts[0], names));
      case "set": {
        const members = node.parts.map((part) => this.number(part, names));
        if (members.some((member) => member < 0 || member > 30)) refuseAt(node.at, "a set holds ids from 0");
        const mask = members.reduce((sum, member) => sum | (1 << member), 0);
        return { kind: "set", sort: null, lo: mask, hi: mask, isWritten: true, get: () => mask };
      }
      case "+":
      case "-":
      case "*":
        return this.sum(node, names);
      case "name":
      case "part":
        return this.field(node, names);
      case "call":
        return this.call(node, names);
      default:
        return this.flag(this.condition(node, names));
    }
  }

  sum(node, names) {
    const [a, b] = node.parts.map((part) => this.value(part, names));
    if (a.kind !== "number" || b.kind !== "number" || a.sort || b.sort) refuseAt(node.at, "only numbers are added, subtracted and multiplied");
    const made = CALCULATED[node.type];
    const bounds = [a.lo, a.hi].flatMap((one) => [b.lo, b.hi].map((other) => made(one, other)));
    return { kind: "number", sort: null, lo: Math.min(...bounds), hi: Math.max(...bounds), get: () => (a.get() === null || b.get() === null ? null : made(a.get(), b.get())) };
  }

  // A number that is known: written out, a constant, or bound by any, all or count.
  number(node, names) {
    if (node.type === "number") return node.value;
    const held = this.ofMember(node, names);
    if (held && held.kind === "number" && !held.isNone) return held.lo;
    if (!held && node.type === "name" && node.name in names) return names[node.name];
    if (node.type === "name" && node.name in this.constants) return this.constants[node.name];
    if (node.type === "+" || node.type === "-") {
      const [a, b] = node.parts.map((part) => this.number(part, names));
      return node.type === "+" ? a + b : a - b;
    }
    return refuseAt(node.at, "this must be a number such as 0, a constant, or a name bound by any(…), all(…) or count(…); to choose by the value of a field, write any(that field == r and … for r in …)");
  }

  field(node, names) {
    const inner = this.ofMember(node, names);
    if (inner) return inner;
    if (node.type === "name" && node.name in names) return { ...this.written(names[node.name]), isWritten: false, isKnown: true };
    if (node.type === "name" && !this.paths.has(node.name) && node.name in this.constants) return { ...this.written(this.constants[node.name]), isWritten: false, isKnown: true };
    const path = this.path(node, names);
    const leaf = this.leaves.get(path.join("."));
    if (!leaf) refuseAt(node.at, `${path.join(".")} is not a single field; name one of its parts`);
    return this.held(leaf);
  }

  // The end of a log or a queue that a term names.
  endOf(node, names) {
    if (!["name", "part"].includes(node.type) || (node.type === "name" && (node.name in names || !this.paths.has(node.name)))) return null;
    if (this.ofMember(node, names)) return null;
    const path = this.path(node, names);
    return this.paths.has([...path, "records"].join(".")) ? this.leaves.get([...path, "end"].join(".")) : null;
  }

  // Of a log or a queue its first record, and a record by its offset alone.
  ofLog(before, part) {
    const at = part === "first" ? 0 : part;
    const path = [...before, "records", at];
    return Number.isInteger(at) && this.paths.has([...before, "end"].join(".")) && this.paths.has(path.join(".")) ? path : null;
  }

  path(node, names) {
    if (node.type !== "name" && node.type !== "part") refuseAt(node.at, "this has no parts");
    const before = node.type === "name" ? [] : this.path(node.of, names);
    const part = node.type === "name" ? node.name : (node.name ?? this.number(node.index, names));
    const whole = [...before, part];
    const path = this.paths.has(whole.join(".")) ? whole : this.ofLog(before, part) ?? whole;
    if (!this.paths.has(path.join("."))) {
      const known = [...this.paths].filter((other) => other && other.split(".").length === path.length && other.startsWith(before.length ? `${before.join(".")}.` : ""));
      refuseAt(node.at, `${before.join(".") || "the state"} has no '${part}'; it has ${known.map((other) => other.split(".").pop()).join(", ")}`);
    }
    return path;
  }

  held({ at, domain, cardinality, record }) {
    const read = this.readCode;
    const isPast = record ? () => read(record.end) <= record.offset : () => false;
    const { kind, sort, least } = domain;
    if (kind === "name") return { kind, sort, names: domain.names, get: () => (isPast() || (domain.none && read(at) === 0) ? null : domain.names[read(at) - (domain.none ? 1 : 0)]) };
    if (kind === "set") return { kind, sort, lo: 0, hi: cardinality - 1, get: () => (isPast() ? null : read(at)) };
    if (kind === "flag") return { kind, sort, get: () => (isPast() ? null : read(at) === 1) };
    const skipped = domain.none ? 1 : 0;
    const get = () => (isPast() || (skipped && read(at) === 0) ? null : read(at) - skipped + least);
    return { kind, sort, lo: least, hi: least + cardinality - 1 - skipped, get };
  }
}

// Whether a predicate holds where `read` gives the code of a leaf.
function predicateOf(text, fields, read) {
  if (text.length > LENGTH) throw new Refusal(`the predicate is longer than ${LENGTH.toLocaleString("en-US")} characters`);
  if (!text.trim()) throw new Refusal("the predicate is empty");
  return new Lowering(fields, read).condition(new Reader(text.replace(/[\r\n]+/g, " ")).whole(), {});
}
