// Sets inside words, such as “ISR {0, 1}”: which members came and which went, marked one by one.

import { el, hidden } from "./dom.js";

const SET = /\{([^{}]*)\}/g;

function members(text) {
  return text.trim() ? text.split(", ") : [];
}

function listed(parts) {
  return parts.flatMap((part, at) => (at ? [", ", part] : [part]));
}

// The sets of two texts that are the same but for their sets' members; null where there is more to it, or no change.
function pairs(before, now) {
  if (before === null || before === undefined || before === now) return null;
  const [old, fresh] = [[...before.matchAll(SET)], [...now.matchAll(SET)]];
  if (!fresh.length || old.length !== fresh.length || before.replace(SET, "{}") !== now.replace(SET, "{}")) return null;
  return fresh.map((set, at) => [members(old[at][1]), members(set[1]), set.index, set[0].length]);
}

// What a text was: members that went are marked.
export function wasText(before, now) {
  return marked(now, before, (member) => el("span", { class: "went" }, member));
}

// What a text is: members that came are marked. With `whole`, those that went are shown, too, struck; and both are told.
export function isText(before, now, whole = false) {
  return marked(before, now, (member) => el("span", { class: "came" }, member, whole ? hidden(" (new)") : null), whole);
}

function marked(other, text, mark, whole = false) {
  const found = pairs(other, text);
  if (found === null) return text;
  const parts = [];
  let from = 0;
  for (const [old, fresh, at, length] of found) {
    const kept = fresh.map((member) => (old.includes(member) ? member : mark(member)));
    const gone = whole ? old.filter((member) => !fresh.includes(member)).map((member) => el("s", { class: "went" }, member, hidden(" (removed)"))) : [];
    parts.push(text.slice(from, at), "{", listed([...kept, ...gone]), "}");
    from = at + length;
  }
  return [...parts, text.slice(from)];
}
