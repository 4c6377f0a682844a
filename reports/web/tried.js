// The tree of what was tried: every path that was taken, where they part, and the states that were bookmarked.

import { el } from "./dom.js";

const key = (path) => path.join(".");

function startsWith(path, other) {
  return other.length <= path.length && other.every((part, at) => part === path[at]);
}

// The pieces of paths between the places where they part, end or are marked: { path, from, inner }.
function pieces(paths, from, stops) {
  const groups = Map.groupBy ? Map.groupBy(paths.filter((path) => path.length > from), (path) => path[from]) : grouped(paths, from);
  return [...groups.values()].map((group) => {
    const [first] = group;
    let end = from + 1;
    while (group.every((path) => path.length > end && path[end] === first[end]) && !stops.has(key(first.slice(0, end)))) end += 1;
    return { path: first.slice(0, end), from, inner: pieces(group, end, stops) };
  });
}

function grouped(paths, from) {
  const groups = new Map();
  for (const path of paths.filter((path) => path.length > from)) groups.set(path[from], [...(groups.get(path[from]) || []), path]);
  return groups;
}

export class Tried {
  // `labelOf` gives the words of an action instance, `choose` is called with a path.
  constructor(labelOf, choose) {
    this.labelOf = labelOf;
    this.choose = choose;
    this.paths = [[]];
    this.marks = new Map();
  }

  // Of a path and one that goes on from it, the longer says all.
  add(path) {
    if (this.paths.some((other) => startsWith(other, path))) return;
    this.paths = [...this.paths.filter((other) => !startsWith(path, other)), path];
  }

  mark(path) {
    if (!this.marks.delete(key(path))) this.marks.set(key(path), path);
    this.add(path);
  }

  isMarked(path) {
    return this.marks.has(key(path));
  }

  element(path, here) {
    const ends = this.paths.filter((other) => other.length);
    if (!ends.length && !this.marks.size) return null;
    const stops = new Set([...this.marks.keys(), key(here)]);
    const count = Math.max(ends.length, 1);
    return el(
      "details",
      { class: "tried", open: true },
      el("summary", { "data-key": "tried" }, `What was tried (${count === 1 ? "one path" : `${count} paths`})`),
      this.items([{ path: [], from: -1, inner: [] }, ...pieces(ends, 0, stops)], here, path)
    );
  }

  items(found, here, path) {
    return el("ul", {}, found.map((piece) => el("li", {}, this.button(piece, here, path), piece.inner.length ? this.items(piece.inner, here, path) : null)));
  }

  button({ path: to, from }, here, path) {
    const label = to.length ? this.labelOf(to[to.length - 1]) : "the initial state";
    const steps = to.length === from + 1 ? String(to.length) : `${from + 1}–${to.length}`;
    return el(
      "button",
      { type: "button", "data-key": `tried-${key(to)}`, "aria-current": key(to) === key(here) ? "step" : null, class: startsWith(path, to) ? "taken" : null, onclick: () => this.choose(to) },
      this.isMarked(to) ? "★ " : null,
      el("span", { class: "number" }, to.length ? steps : "0"),
      " ",
      el("code", {}, label)
    );
  }
}
