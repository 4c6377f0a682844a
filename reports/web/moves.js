// What may happen next: every enabled action with what it leads to, every other with the clause that forbids it.

import { el } from "./dom.js";

function reasonsElement(clauses) {
  return el(
    "ul",
    { class: "clauses" },
    clauses.map((clause) =>
      el(
        "li",
        {},
        el("span", { class: "false" }, "✗ "),
        el("strong", {}, clause.label),
        clause.reasons.length ? [": ", el("span", { class: "values" }, clause.reasons.join("; "))] : null
      )
    )
  );
}

// One action's instances that are not enabled; what is folded away is drawn when it is opened.
function groupElement(head, action, items, open) {
  const inside = el("div", {});
  const fill = () => {
    if (inside.firstChild) return;
    inside.append(
      el("p", { class: "note" }, head.actions[action].doc),
      el(
        "ul",
        { class: "refused" },
        items.map((item) => el("li", { "data-instance": item.instance }, el("code", {}, head.instances[item.instance][1]), reasonsElement(item.clauses)))
      )
    );
  };
  if (open) fill();
  return el(
    "details",
    { open, "data-action": head.actions[action].name, ontoggle: fill },
    el("summary", { "data-key": `why-${action}` }, el("code", {}, head.actions[action].name), ` — ${items.length} not enabled`),
    inside
  );
}

// `options`: filter (text), taken (the action instance of the run's next step), open(move), verb.
export function movesElement(head, step, options) {
  const wanted = options.filter.trim().toLowerCase();
  const matches = (instance) => !wanted || head.instances[instance][1].toLowerCase().includes(wanted);
  const moves = step.moves().filter((move) => matches(move.by));
  const refused = step.refused().filter((item) => matches(item.instance));
  const enabled = moves.map((move) =>
    el(
      "li",
      {},
      el(
        "button",
        { type: "button", class: "move", "data-key": `move-${move.by}`, "data-instance": move.by, onclick: () => options.open(move) },
        el("code", {}, head.instances[move.by][1]),
        move.by === options.taken ? el("span", { class: "taken" }, " ← the trace continues here") : null,
        move.marks.includes("0") ? el("span", { class: "bad" }, " ✗ violates a promise") : null,
        el("span", { class: "says" }, move.says)
      )
    )
  );
  const groups = new Map();
  for (const item of refused) {
    const action = head.instances[item.instance][0];
    if (!groups.has(action)) groups.set(action, []);
    groups.get(action).push(item);
  }
  const disabled = [...groups].map(([action, items]) => groupElement(head, action, items, Boolean(wanted)));
  return [
    el("h3", {}, `${options.verb} (${moves.length})`),
    moves.length ? el("ul", { class: "moves" }, enabled) : el("p", { class: "note" }, wanted ? "No enabled action matches." : "No action is enabled: the trace ends here."),
    el("h3", {}, `Not enabled, and why (${refused.length})`),
    refused.length ? disabled : el("p", { class: "note" }, wanted ? "No other action matches." : "Everything is enabled."),
  ];
}
