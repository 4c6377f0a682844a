// Steps for people: sentence, picture, messages, marks of the properties. `reports/runs/view.py`, `reports/runs/packet.py` and
// `reports/pictures/messages.py` once more.
//
// `words` are those that `reports/standalone` translated: a sentence for every action, the picture of a moment, who sends what.

import { Explainer } from "./explain.js";
import { Instance } from "./instance.js";
import { py } from "./python.js";

const UNSAFE = /[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

function harmless(text) {
  return String(text).replace(UNSAFE, (letter) => {
    const code = letter.charCodeAt(0);
    const short = { 9: "\\t", 10: "\\n", 13: "\\r" }[code];
    return short || (code < 256 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`);
  });
}

// The lanes of ids: of one, of several, or of nobody.
export function named(lanes, which) {
  if (which === null) return [];
  return (typeof which === "number" ? [which] : [...which]).map((number) => lanes[number]);
}

function same(codes, others) {
  return codes.every((code, at) => code === others[at]);
}

function rowData({ key, name, epoch, cells, markers, badges }) {
  return {
    key,
    name: harmless(name),
    epoch,
    cells: cells.map((cell) => [cell.record, cell.epoch, Number(cell.committed) + 2 * Number(cell.acked), cell.lost]),
    markers: markers.map((marker) => [marker.place, marker.name, marker.offset]),
    badges: badges.map((badge) => [badge.kind, harmless(badge.text), badge.tone]),
  };
}

function boxData({ key, name, epoch, facts }) {
  return { key, name: harmless(name), epoch, facts: facts.map((fact) => [fact.key, harmless(fact.text), ...(fact.tone === "plain" ? [] : [fact.tone])]) };
}

// What became of a message that did not arrive in the step that sent it.
function fateOf({ sent, received, dropped, late }) {
  if (received === sent) return "";
  if (received !== null) return `sent in step ${sent}, received in step ${received}${late ? ", late" : ""}`;
  if (dropped === null) return `sent in step ${sent}, not received in this trace`;
  if (dropped === sent) return `sent in step ${sent} and lost`;
  return `sent in step ${sent}, ${late ? "late, " : ""}never acted upon: dropped in step ${dropped}`;
}

// The messages of a step, given what was on its way before it.
class Mail {
  constructor(index, telling, underway) {
    this.index = index;
    this.telling = telling;
    this.underway = underway;
    this.count = 0;
    this.found = [];
  }

  read(declared) {
    for (const item of declared) {
      if (item.whose) this.end(item);
      else this.tell(item);
    }
    return this;
  }

  tell(item) {
    const said = typeof item.text === "string" ? item.text : item.text(this.telling);
    const texts = said === null ? [] : typeof said === "string" ? [said] : [...said];
    for (const sender of item.sender(this.telling)) for (const receiver of item.receiver(this.telling)) for (const text of texts) this.pass(item, sender, receiver, text);
  }

  pass(item, sender, receiver, text) {
    const number = item.number ? item.number(this.telling) : null;
    this.count += 1;
    const fresh = { key: `${this.index}.${this.count}`, sender, receiver, text, sent: this.index, received: null, dropped: null, late: item.late };
    const between = this.underway.filter(({ message, channel }) => message.sender === sender && message.receiver === receiver && channel === item.channel);
    const fits = (flying) => number === null || py.eq(number, flying.number);
    if (item.course === "AT_ONCE") this.found.push({ ...fresh, received: this.index });
    else if (item.course === "DEPARTS") {
      this.underway = [...this.underway, { message: fresh, channel: item.channel, number }];
      this.found.push(fresh);
    } else if (item.course === "ARRIVES") this.arrive(fresh, between, between.findLast(fits));
    else {
      const lost = between.filter(fits);
      if (lost.length) this.drop(lost);
      else this.found.push({ ...fresh, dropped: this.index });
    }
  }

  arrive(fresh, between, arriving) {
    const message = arriving ? arriving.message : fresh;
    const newer = between.filter((flying) => flying.message.sent > message.sent);
    this.drop(between.filter((flying) => flying !== arriving && !newer.includes(flying)));
    this.underway = this.underway.filter((flying) => flying !== arriving);
    this.found.push({ ...message, received: this.index, late: message.late || newer.length > 0 });
  }

  end({ whose, channel, when }) {
    if (when && !py.truth(when(this.telling))) return;
    const parties = whose(this.telling);
    this.drop(this.underway.filter((flying) => (channel === null || flying.channel === channel) && (parties.includes(flying.message.sender) || parties.includes(flying.message.receiver))));
  }

  drop(gone) {
    this.underway = this.underway.filter((flying) => !gone.includes(flying));
    this.found.push(...gone.map(({ message }) => ({ ...message, dropped: this.index })));
  }
}

// Parameters by their names; those that are the fields of a struct, "message.source", as a struct.
function nested(given) {
  const found = {};
  for (const [name, value] of Object.entries(given)) {
    const parts = name.split(".");
    const last = parts.pop();
    parts.reduce((inside, part) => (inside[part] ??= {}), found)[last] = value;
  }
  return found;
}

// Tells steps of one question one after the other, each from the step before it, so that runs may branch.
export class Teller {
  constructor(data, head, words) {
    this.data = data;
    this.head = head;
    this.words = words;
    this.search = new Instance(data.search);
    // Where the search numbers leader epochs by rank, people see numbers that count on.
    this.shown = data.told ? new Instance(data.told) : this.search;
  }

  first() {
    const codes = this.data.initial;
    const told = this.shown === this.search ? codes : this.shown.encode(this.search.decode(codes));
    return this.step(null, null, codes, told);
  }

  // The step of an action after another step; null if it leaves the domain of a field.
  next(before, by) {
    const codes = this.search.fire(by, before.codes);
    return codes && this.step(before, by, codes, this.toldNext(before.told, by, codes));
  }

  toldNext(told, by, codes) {
    if (this.shown === this.search) return codes;
    const counterpart = this.shown.actions[by] && this.shown.fire(by, told);
    return counterpart || this.shown.encode(this.search.decode(codes));
  }

  step(before, by, codes, told) {
    const state = this.shown.decode(told);
    const index = before ? before.index + 1 : 0;
    const given = this.data.arguments[by];
    const telling = before && { before: before.state, after: state, arguments: given, ...given, ...nested(given) };
    const { rows, boxes, actors, memory } = this.picture(index, before, state);
    const mail = this.mail(index, by, telling, before);
    const step = {
      by,
      index,
      codes,
      told,
      state,
      memory,
      says: harmless(before ? this.sentence(by, telling) : this.words.initial(state)),
      values: this.shown.texts(state),
      rows: rows.map(rowData),
      boxes: boxes.map(boxData),
      hasPicture: rows.length + boxes.length > 0,
      actors: actors.length ? actors : this.words.lanes,
      actor: mail.actor,
      messages: mail.found,
      underway: mail.underway,
      ...this.judged(before, by, codes, told),
      seen: null,
    };
    // Of what may follow nothing is computed before somebody looks.
    return Object.assign(step, { moves: () => this.moves(step), refused: () => this.refused(step) });
  }

  nameOf(by) {
    return this.head.actions[this.head.instances[by][0]].name;
  }

  sentence(by, telling) {
    const words = this.words.actions[this.nameOf(by)];
    return words && words.says ? words.says(telling) : this.head.instances[by][1];
  }

  picture(index, before, after) {
    const moment = { index, before: before ? before.state : null, after, memory: before ? before.memory : null };
    const [picture, memory] = this.words.picture(moment);
    const [added] = this.words.added ? this.words.added(moment) : [{ rows: [], boxes: [] }];
    return { ...picture, rows: [...picture.rows, ...added.rows], boxes: [...picture.boxes, ...added.boxes], memory };
  }

  mail(index, by, telling, before) {
    const words = by === null ? null : this.words.actions[this.nameOf(by)];
    const mail = new Mail(index, telling, before ? before.underway : []);
    mail.actor = null;
    if (words) {
      mail.actor = words.actor ? (words.actor(telling)[0] ?? null) : this.data.actors[by];
      mail.read(words.messages);
    }
    return mail;
  }

  // -- what holds, what may follow ----------------------------------------------------------------------------------

  judged(before, by, codes, told) {
    const marks = this.data.kinds.map((kind, at) => this.mark(kind, at, before, by, codes));
    const failing = {};
    marks.forEach((mark, at) => {
      const kind = this.data.kinds[at];
      if (mark === "0" && kind !== "deadlock") failing[at] = this.failing(kind, at, before, by, codes, told);
    });
    return { marks: marks.join(""), failing };
  }

  mark(kind, at, before, by, codes) {
    if (kind === "step property") {
      if (!before) return "-";
      const root = this.search.actions[by].checks[at];
      return root === undefined ? "1" : String(this.search.values(before.codes)[root]);
    }
    const root = this.search.holds[at];
    if (root === undefined) return "-";
    const value = this.search.values(codes)[root];
    return kind === "witness" ? (value ? "-" : "1") : String(value);
  }

  // The conjuncts that are false, by the values that the page shows, if the instance in which it shows them knows.
  failing(kind, at, before, by, codes, told) {
    const isStep = kind === "step property";
    const isSame = same(codes, told) && (!before || same(before.codes, before.told));
    const rooted = (instance) => (isStep ? instance.actions[by] && instance.actions[by].checks[at] : instance.holds[at]);
    const source = isStep ? before : { codes, told };
    if (!isSame && rooted(this.shown) !== undefined && rooted(this.shown) !== null) {
      const found = new Explainer(this.shown, source.told).failingConjuncts(rooted(this.shown));
      if (found.length) return found;
    }
    return new Explainer(this.search, source.codes).failingConjuncts(rooted(this.search));
  }

  moves(step) {
    return this.search.enabled(step.codes).map((by) => this.next(step, by)).filter(Boolean);
  }

  refused(step) {
    const explainer = new Explainer(this.search, step.codes);
    const told = same(step.codes, step.told) ? null : new Explainer(this.shown, step.told);
    const found = [];
    this.search.actions.forEach((_, instance) => {
      const clauses = explainer.refusal(instance);
      if (clauses.length) found.push({ instance, clauses: this.toldClauses(told, instance, clauses) });
    });
    return found;
  }

  // Why one action is not enabled; nothing if it is.
  toldRefusal(step, instance) {
    const clauses = new Explainer(this.search, step.codes).refusal(instance);
    if (!clauses.length || same(step.codes, step.told)) return clauses;
    return this.toldClauses(new Explainer(this.shown, step.told), instance, clauses);
  }

  toldClauses(told, instance, clauses) {
    if (!told || !this.shown.actions[instance]) return clauses;
    const shown = told.refusal(instance);
    return shown.map(({ label }) => label).join("\n") === clauses.map(({ label }) => label).join("\n") ? shown : clauses;
  }
}

// The lanes of a run: who took which step, and every message with what became of it.
export function lanesOf(steps) {
  const messages = new Map(steps.flatMap((step) => step.messages.map((message) => [message.key, message])));
  const named = [...messages.values()].flatMap(({ sender, receiver }) => [sender, receiver]);
  const actors = [...new Set([...steps.flatMap((step) => step.actors), ...steps.map((step) => step.actor).filter((actor) => actor !== null), ...named])];
  return {
    actors: actors.map(harmless),
    acting: steps.map((step) => (step.actor === null ? null : actors.indexOf(step.actor))),
    messages: [...messages.values()]
      .sort((a, b) => a.sent - b.sent)
      .map((message) => ({
        key: message.key,
        from: actors.indexOf(message.sender),
        to: actors.indexOf(message.receiver),
        text: harmless(message.text),
        sent: message.sent,
        received: message.received,
        dropped: message.dropped,
        late: message.late,
        fate: fateOf(message),
      })),
  };
}
