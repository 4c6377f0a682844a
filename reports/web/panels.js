// The smaller panels: the properties with their marks, and the fields with what changed.

import { el, hidden } from "./dom.js";
import { isText, wasText } from "./members.js";

const MARK = { 1: "✓", 0: "✗", "-": "·" };
const VERDICT = { 1: "holds", 0: "violated", "-": "not decided by this step" };

// Stretches of steps with the same mark, so that a run of a thousand steps is a strip of a few pieces.
function stretches(steps, at) {
  const found = [];
  steps.forEach((step, index) => {
    const last = found[found.length - 1];
    if (last && last.mark === step.marks[at]) last.count += 1;
    else found.push({ mark: step.marks[at], first: index, count: 1 });
  });
  return found;
}

function stripElement(steps, at, current, choose) {
  const parts = stretches(steps, at).map((part) => {
    const piece = el("span", { class: `piece m${part.mark === "-" ? "n" : part.mark}` });
    piece.style.flexGrow = part.count;
    return piece;
  });
  const cursor = el("span", { class: "cursor" });
  cursor.style.left = `${(100 * (current + 0.5)) / steps.length}%`;
  const strip = el("div", { class: "strip", "aria-hidden": "true" }, parts, cursor);
  strip.addEventListener("click", (event) => {
    const box = strip.getBoundingClientRect();
    choose(Math.min(steps.length - 1, Math.floor((steps.length * (event.clientX - box.left)) / box.width)));
  });
  return strip;
}

// `unfolded` remembers which of those that are kept show their words.
export function propertiesElement(head, steps, current, shown, choose, unfolded) {
  const items = head.properties.map((property, at) => {
    const mark = shown.marks[at];
    const failing = shown.failing[at] || [];
    const broken = steps.findIndex((step) => step.marks[at] === "0");
    const line = [
      el("span", { class: `mark m${mark === "-" ? "n" : mark}` }, MARK[mark]),
      " ",
      el("strong", { title: property.source }, property.name),
      ` ${VERDICT[mark]}`,
    ];
    const promise = el("p", { class: "note" }, property.promise);
    // What no step of the trace violates is one line; its words are one click away.
    if (broken < 0 && mark !== "0") {
      const ontoggle = (event) => (event.target.open ? unfolded.add(at) : unfolded.delete(at));
      return el("li", { class: "kept" }, el("details", { open: unfolded.has(at), ontoggle }, el("summary", { "data-key": `kept-${at}` }, line), promise));
    }
    return el(
      "li",
      { class: mark === "0" ? "violated" : "" },
      line,
      mark !== "0"
        ? [" ", el("button", { type: "button", class: "link", "data-key": `broken-${at}`, onclick: () => choose(broken) }, `violated in step ${broken}`)]
        : null,
      stripElement(steps, at, current, choose),
      promise,
      failing.length
        ? el(
            "div",
            { class: "failing" },
            el("p", {}, failing.length === 1 ? "The conjunct that fails, by its values:" : `The ${failing.length} conjuncts that fail, by their values:`),
            el("ul", {}, failing.map((texts) => el("li", {}, el("code", {}, texts.join(" and ")))))
          )
        : null
    );
  });
  return el("ul", { class: "properties" }, items);
}

// Every field with its value; `base` is the step to compare with (null at the beginning).
export function fieldsElement(head, step, base, options) {
  const rows = [];
  let left = 0;
  head.fields.forEach((name, at) => {
    const before = base ? base.values[at] : step.values[at];
    const changed = before !== step.values[at];
    const mine = !options.keys || [...options.keys].some((key) => name.includes(`[${key}]`)) || !/\[\d+\]/.test(name);
    if (!mine || (options.hideUnchanged && !changed)) {
      left += 1;
      return;
    }
    rows.push(
      el(
        "tr",
        { class: changed ? "changed" : "" },
        el("th", { scope: "row" }, el("code", {}, name)),
        el("td", {}, changed ? [el("del", {}, wasText(before, step.values[at])), hidden(" becomes "), " → ", el("ins", {}, isText(before, step.values[at]))] : step.values[at])
      )
    );
  });
  return [
    rows.length
      ? el(
          "table",
          { class: "fields" },
          el("caption", { class: "sr" }, options.caption),
          el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "field"), el("th", { scope: "col" }, "value"))),
          el("tbody", {}, rows)
        )
      : el("p", { class: "note" }, "No field differs."),
    left ? el("p", { class: "note" }, `${left} ${left === 1 ? "field is" : "fields are"} not shown`) : null,
  ];
}
