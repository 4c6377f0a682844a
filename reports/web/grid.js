// The log grid: a row per broker, a cell per offset, markers, badges; and what differs from another state.

import { el, hidden } from "./dom.js";
import { isText } from "./members.js";

const SHORT = { hw: "HW", end: "LEO" };
const EDITED = { added: "added", replaced: "replaced", removed: "removed" };

function epochText(epoch) {
  return epoch === null ? "no epoch" : `epoch ${epoch}`;
}

function editOf(old, cell) {
  if (!old || (old[0] === cell[0] && old[1] === cell[1])) return null;
  if (old[0] === null) return "added";
  return cell[0] === null ? "removed" : "replaced";
}

function cellElement(row, old, offset) {
  const cell = row.cells[offset];
  const [record, epoch, flags, lost] = cell;
  const edit = editOf(old && old.cells[offset], cell);
  const markers = row.markers.filter(([, , at]) => at === offset);
  const classes = ["cell"];
  if (epoch !== null) classes.push(`epoch-${epoch % EPOCHS}`);
  if (edit) classes.push("changed", `is-${edit}`);
  if (flags & 2) classes.push("acked");
  const parts = [];
  if (record !== null) {
    parts.push(el("span", { class: "record" }, `${record}·e${epoch}`));
    if (flags & 2) parts.push(el("span", { class: "ack", title: "acknowledged" }, "✓", hidden(" acknowledged")));
  } else if (edit === "removed" && !lost) {
    parts.push(el("span", { class: "gone" }, "×"));
  }
  if (lost) parts.push(el("s", { class: "lost", title: "acknowledged, and lost here" }, lost), hidden(" lost"));
  if (edit) parts.push(hidden(` ${EDITED[edit]}`));
  return el("td", { class: classes.join(" ") }, markerElements(markers, row, old), parts);
}

function markerElements(markers, row, old) {
  return markers.map(([place, name, offset]) => {
    const before = old && old.markers.find((marker) => marker[1] === name);
    const moved = before && before[2] !== offset;
    return el(
      "span",
      { class: `marker at-${place}${moved ? " changed" : ""}`, title: `${name} ${offset}` },
      SHORT[place] || name,
      hidden(` ${offset} (${name}${moved ? `, was ${before[2]}` : ""})`)
    );
  });
}

function badgeElements(row, old) {
  const known = new Set((old ? old.badges : row.badges).map((badge) => badge.join(" ")));
  return row.badges.map(([role, text]) => {
    const isNew = !known.has(`${role} ${text}`);
    const before = isNew ? old.badges.find((badge) => badge[0] === role) : null;
    const shown = before ? isText(before[1], text, true) : text;
    // Where single members are marked, the badge as a whole is not new.
    return [el("span", { class: `badge ${role}${isNew ? " changed" : ""}` }, shown, isNew && shown === text ? hidden(" (new)") : null), " "];
  });
}

function isSame(row, old) {
  return JSON.stringify(row) === JSON.stringify(old);
}

function boxElement(box, old) {
  const known = new Map((old || box).facts);
  return el(
    "div",
    { class: "box" },
    el("strong", {}, box.name),
    " ",
    box.epoch === null ? null : el("span", { class: `epoch${old && old.epoch !== box.epoch ? " changed" : ""}` }, `e${box.epoch}`),
    box.facts.map(([key, text]) => [" ", el("span", { class: `fact${known.get(key) === text ? "" : " changed"}` }, isText(known.get(key), text, true))])
  );
}

// How many offsets any step of a run uses; the others take no room.
export function usedOffsets(steps) {
  let used = 1;
  for (const step of steps)
    for (const row of step.rows) {
      for (const marker of row.markers) used = Math.max(used, marker[2]);
      used = Math.min(used, row.cells.length);
    }
  return used;
}

// `step` compared with `base` (null: nothing is marked as changed); `options`: offsets, brokers (names shown, null: all),
// hideUnchanged, caption.
export function gridElement(step, base, options) {
  if (!step.hasPicture) return el("p", { class: "note" }, "This protocol has no picture; its fields are below.");
  const old = (item, list) => (base ? list.find((other) => other.key === item.key) : null);
  const rows = step.rows.filter((row) => {
    if (options.brokers && !options.brokers.has(row.name)) return false;
    return !(options.hideUnchanged && base && isSame(row, old(row, base.rows)));
  });
  const left = step.rows.length - rows.length;
  const offsets = [...Array(options.offsets).keys()];
  const head = el(
    "tr",
    {},
    el("th", { scope: "col" }, "broker"),
    offsets.map((offset) => el("th", { scope: "col", class: "offset" }, offset)),
    el("th", { scope: "col", class: "end" }, hidden("log end")),
    el("th", { scope: "col", class: "about" }, "state")
  );
  const body = rows.map((row) => {
    const before = old(row, base ? base.rows : []);
    const epochMoved = before && before.epoch !== row.epoch;
    const last = row.markers.filter(([, , at]) => at === options.offsets);
    return el(
      "tr",
      { "data-actor": row.name },
      el(
        "th",
        { scope: "row" },
        row.name,
        " ",
        el("span", { class: `epoch${epochMoved ? " changed" : ""}`, title: epochText(row.epoch) }, row.epoch === null ? "e–" : `e${row.epoch}`)
      ),
      offsets.map((offset) => cellElement(row, before, offset)),
      el("td", { class: "end" }, markerElements(last, row, before)),
      el("td", { class: "about" }, badgeElements(row, before))
    );
  });
  return [
    step.boxes.map((box) => boxElement(box, old(box, base ? base.boxes : []))),
    el(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": options.caption },
      el("table", { class: "grid" }, el("caption", { class: "sr" }, options.caption), el("thead", {}, head), el("tbody", {}, body))
    ),
    left ? el("p", { class: "note" }, `${left} ${left === 1 ? "broker is" : "brokers are"} not shown (unchanged or filtered out)`) : null,
  ];
}

export function legendElement() {
  const item = (symbol, text) => el("span", {}, symbol, ` ${text}`);
  return el(
    "p",
    { class: "legend" },
    item(el("span", { class: "cell epoch-1" }, "r0·e1"), "record 0 of leader epoch 1"),
    item(el("span", { class: "marker at-hw" }, "HW"), "high watermark"),
    item(el("span", { class: "marker at-end" }, "LEO"), "log end offset"),
    item(el("span", { class: "ack" }, "✓"), "acknowledged"),
    item(el("s", { class: "lost" }, "r0·e1"), "acknowledged, lost here"),
    item(el("span", { class: "badge changed" }, "outlined"), "changed")
  );
}
