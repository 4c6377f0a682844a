// What Python means by truth, equality, `in` and the like: for the words and pictures that `reports/standalone/javascript.py`
// translated. Lists and tuples are arrays, states are objects, sets are `Members`.

class Members {
  constructor(items) {
    this.held = new Map();
    for (const item of items) this.add(item);
  }

  add(item) {
    this.held.set(JSON.stringify(item), item);
  }

  has(item) {
    return this.held.has(JSON.stringify(item));
  }

  get size() {
    return this.held.size;
  }

  [Symbol.iterator]() {
    return this.held.values();
  }
}

function* zipped(lists) {
  const iterators = lists.map((list) => list[Symbol.iterator]());
  for (;;) {
    const next = iterators.map((iterator) => iterator.next());
    if (next.some((item) => item.done)) return;
    yield next.map((item) => item.value);
  }
}

const WORDS_OF = new Map([[null, "None"], [true, "True"], [false, "False"]]);

export const py = {
  set: (items = []) => new Members(items),
  truth: (value) => (Array.isArray(value) ? value.length > 0 : value instanceof Members ? value.size > 0 : value !== null && typeof value === "object" ? Object.keys(value).length > 0 : Boolean(value)),
  bool: (value) => py.truth(value),
  either: (...parts) => parts.slice(1).reduce((value, part) => (py.truth(value) ? value : part()), parts[0]()),
  both: (...parts) => parts.slice(1).reduce((value, part) => (py.truth(value) ? part() : value), parts[0]()),

  eq(a, b) {
    if (typeof a === "boolean" || typeof b === "boolean") return Number(a) === Number(b) && a !== null && b !== null;
    if (a === null || b === null || typeof a !== "object" || typeof b !== "object") return a === b;
    if (a instanceof Members) return a.size === b.size && [...a].every((item) => b.has(item));
    const keys = Object.keys(a);
    return keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && py.eq(a[key], b[key]));
  },

  compare(a, b) {
    if (!Array.isArray(a)) return a < b ? -1 : a > b ? 1 : 0;
    for (let at = 0; at < Math.min(a.length, b.length); at++) {
      const order = py.compare(a[at], b[at]);
      if (order) return order;
    }
    return a.length - b.length;
  },

  has(container, item) {
    if (Array.isArray(container)) return container.some((other) => py.eq(other, item));
    if (container instanceof Members) return container.has(item);
    return typeof container === "string" ? container.includes(item) : Object.hasOwn(container, item);
  },

  str(value) {
    if (WORDS_OF.has(value)) return WORDS_OF.get(value);
    if (value === undefined) throw new Error("the words of this step speak of a field that is not there");
    return Array.isArray(value) ? `[${value.map(py.str).join(", ")}]` : String(value);
  },

  // A field of a state; what is not there has no words.
  field(owner, name) {
    if (!Object.hasOwn(owner, name)) throw new Error(`there is no field ${name} here`);
    return owner[name];
  },

  item(list, at) {
    const value = Array.isArray(list) ? list.at(at) : list[at];
    if (value === undefined) throw new Error(`there is no element ${at} here`);
    return value;
  },

  slice(list, from, to, step) {
    const part = list.slice(from ?? 0, to ?? undefined);
    return step === -1 ? part.reverse() : part;
  },

  // A list as its first items, those between as one list, and the last.
  parted: (list, first) => [...list.slice(0, first), list.slice(first, -1), list.at(-1)],

  iter: (value) => (typeof value[Symbol.iterator] === "function" ? value : Object.keys(value)),
  add: (a, b) => (Array.isArray(a) ? [...a, ...b] : a + b),
  sub: (a, b) => (a instanceof Members ? new Members([...a].filter((item) => !b.has(item))) : a - b),
  mul: (a, b) => (Array.isArray(a) ? Array.from({ length: b }, () => a).flat() : typeof a === "string" ? a.repeat(b) : a * b),
  or: (a, b) => (a instanceof Members ? new Members([...a, ...b]) : a | b),
  and: (a, b) => (a instanceof Members ? new Members([...a].filter((item) => b.has(item))) : a & b),
  floordiv: (a, b) => Math.floor(a / b),
  mod: (a, b) => ((a % b) + b) % b,

  // In place, where Python changes what others hold, too.
  iadd(a, b) {
    if (!Array.isArray(a)) return a + b;
    a.push(...b);
    return a;
  },
  ior(a, b) {
    if (!(a instanceof Members)) return a | b;
    for (const item of b) a.add(item);
    return a;
  },
  isub: (a, b) => py.sub(a, b),

  len: (value) => value.length ?? value.size ?? Object.keys(value).length,
  range: (from, to, step = 1) => (to === undefined ? py.range(0, from) : Array.from({ length: Math.max(0, Math.ceil((to - from) / step)) }, (_, at) => from + at * step)),
  enumerate: (list, from = 0) => [...py.iter(list)].map((item, at) => [at + from, item]),
  zip: (...lists) => zipped(lists),
  sorted: (list) => [...py.iter(list)].sort(py.compare),
  min: (...items) => (items.length === 1 ? py.sorted(items[0])[0] : py.sorted(items)[0]),
  max: (...items) => (items.length === 1 ? py.sorted(items[0]).at(-1) : py.sorted(items).at(-1)),
  any: (list) => [...list].some(py.truth),
  all: (list) => [...list].every(py.truth),
  sum: (list) => [...list].reduce((sum, item) => sum + Number(item), 0),
  list: (list = []) => [...py.iter(list)],
  tuple: (list = []) => [...py.iter(list)],
  reversed: (list) => [...list].reverse(),
  map: (make, list) => [...py.iter(list)].map((item) => make(item)),

  next(list, otherwise) {
    const { done, value } = list[Symbol.iterator]().next();
    return done ? otherwise : value;
  },

  getattr: (owner, name, otherwise) => (otherwise === undefined ? py.field(owner, name) : Object.hasOwn(owner, name) ? owner[name] : otherwise),
  hasattr: (owner, name) => Object.hasOwn(owner, name),
  isinstance: (value, kind) => (kind === "list" ? Array.isArray(value) : kind === "dict" ? value !== null && typeof value === "object" && !Array.isArray(value) : typeof value === { str: "string", int: "number" }[kind]),

  append(list, item) {
    list.push(item);
    return null;
  },
  count: (list, item) => [...list].filter((other) => py.eq(other, item)).length,
  get: (owner, name, otherwise = null) => (Object.hasOwn(owner, name) ? owner[name] : otherwise),
  index: (list, item) => list.findIndex((other) => py.eq(other, item)),
  items: (owner) => Object.entries(owner),
  keys: (owner) => Object.keys(owner),
  values: (owner) => Object.values(owner),
  join: (between, parts) => [...parts].join(between),
  removeprefix: (text, prefix) => (text.startsWith(prefix) ? text.slice(prefix.length) : text),
  replace: (text, old, now) => text.replaceAll(old, now),
};
