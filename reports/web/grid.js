// The log grid: a row per broker, a cell per offset, markers, badges; and what differs from another state.

import { el, fill, hidden } from "./dom.js";
import { isText } from "./members.js";

const SHORT = { "high watermark": "HW", "log end": "LEO" };
const EDITED = { added: "added", replaced: "replaced", removed: "removed" };

// The number of an epoch, or of a term, as the protocol's pictures write it; empty where there are none.
function epochText(look, epoch) {
  return look.epoch ? `${look.epoch}${epoch === null ? "–" : epoch}` : "";
}

function recordText(look, record, epoch) {
  return epoch === null || !look.epoch ? record : `${record}·${look.epoch}${epoch}`;
}

function editOf(old, cell) {
  if (!old || (old[0] === cell[0] && old[1] === cell[1])) return null;
  if (old[0] === null) return "added";
  return cell[0] === null ? "removed" : "replaced";
}

// What the tick at a record means, as the legend says it.
function acked(look) {
  const entry = look.legend.find(([sign]) => sign === "acked");
  return entry ? entry[1] : "acknowledged";
}

function cellElement(look, row, old, offset) {
  const cell = row.cells[offset];
  if (!cell) return el("td", { class: "cell" });
  const [record, epoch, flags, lost] = cell;
  const edit = editOf(old && old.cells[offset], cell);
  const markers = row.markers.filter(([, , at]) => at === offset);
  const classes = ["cell"];
  if (epoch !== null) classes.push(`epoch-${epoch % EPOCHS}`);
  if (edit) classes.push("changed", `is-${edit}`);
  if (flags & 2) classes.push("acked");
  const parts = [];
  if (record !== null) {
    parts.push(el("span", { class: "record" }, recordText(look, record, epoch)));
    if (flags & 2) parts.push(el("span", { class: "ack", title: acked(look) }, "✓", hidden(` ${acked(look)}`)));
  } else if (edit === "removed" && !lost) {
    parts.push(el("span", { class: "gone" }, "×"));
  }
  if (lost) parts.push(el("s", { class: "lost", title: "acknowledged, and lost here" }, lost), hidden(" lost"));
  if (edit) parts.push(hidden(` ${EDITED[edit]}`));
  return el("td", { class: classes.join(" ") }, markerElements(markers, row, old), parts);
}

function markerElements(markers, row, old) {
  const found = markers.map(([place, name, offset]) => {
    const before = old && old.markers.find((marker) => marker[1] === name);
    const moved = before && before[2] !== offset;
    return el(
      "span",
      { class: `marker at-${place}${moved ? " changed" : ""}`, title: `${name} ${offset}`, "data-moves": `${row.key} ${name}` },
      SHORT[name] || name,
      hidden(` ${offset} (${name}${moved ? `, was ${before[2]}` : ""})`)
    );
  });
  return found.length ? el("span", { class: "markers" }, found) : null;
}

function badgeElements(row, old) {
  const known = new Set((old ? old.badges : row.badges).map((badge) => badge.join(" ")));
  return row.badges.map(([kind, text, tone]) => {
    const isNew = !known.has([kind, text, tone].join(" "));
    const before = isNew ? old.badges.find((badge) => badge[0] === kind) : null;
    const shown = before ? isText(before[1], text, true) : text;
    // Where single members are marked, the badge as a whole is not new.
    return [el("span", { class: `badge ${tone}${isNew ? " changed" : ""}` }, shown, isNew && shown === text ? hidden(" (new)") : null), " "];
  });
}

function isSame(row, old) {
  return JSON.stringify(row) === JSON.stringify(old);
}

function boxElement(look, box, old) {
  const known = new Map((old || box).facts.map(([key, text]) => [key, text]));
  return el(
    "div",
    { class: "box" },
    el("strong", {}, box.name),
    " ",
    box.epoch === null ? null : el("span", { class: `epoch${old && old.epoch !== box.epoch ? " changed" : ""}` }, epochText(look, box.epoch)),
    box.facts.map(([key, text, tone]) => [" ", el("span", { class: `fact${tone ? ` ${tone}` : ""}${known.get(key) === text ? "" : " changed"}` }, isText(known.get(key), text, true))])
  );
}

// How many offsets any step of a run uses; the others take no room.
export function usedOffsets(steps) {
  let used = 1;
  let room = 0;
  for (const step of steps)
    for (const row of step.rows) {
      for (const marker of row.markers) used = Math.max(used, marker[2]);
      room = Math.max(room, row.cells.length);
    }
  return Math.min(used, room);
}

const MOST_NARROW = 3; // Offsets for which a phone has room.

// `step` compared with `base` (null: nothing is marked as changed); `look`: what all pictures of the protocol have in common;
// `options`: offsets, brokers (names shown, null: all), hideUnchanged, caption, isSeen (real brokers, whose own epoch nobody sees).
export function gridElement(look, step, base, options) {
  if (!step.hasPicture) return el("p", { class: "note" }, "This protocol has a picture of its own, which shows nothing of this state; its fields are below.");
  const old = (item, list) => (base ? list.find((other) => other.key === item.key) : null);
  const rows = step.rows.filter((row) => {
    if (options.brokers && !options.brokers.has(row.name)) return false;
    return !(options.hideUnchanged && base && isSame(row, old(row, base.rows)));
  });
  const left = step.rows.length - rows.length;
  const offsets = [...Array(options.offsets).keys()];
  const table = el("table", { class: options.offsets > MOST_NARROW ? "grid long" : "grid" });
  table.style.setProperty("--offsets", Math.max(options.offsets, 1)); // They share the room that there is.
  const head = el(
    "tr",
    {},
    el("th", { scope: "col" }, look.row),
    offsets.map((offset) => el("th", { scope: "col", class: "offset" }, offset)),
    offsets.length ? el("th", { scope: "col", class: "end" }, hidden("log end")) : null,
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
        look.epoch && !options.isSeen ? el("span", { class: `epoch${epochMoved ? " changed" : ""}` }, epochText(look, row.epoch)) : null
      ),
      offsets.map((offset) => cellElement(look, row, before, offset)),
      offsets.length ? el("td", { class: "end" }, markerElements(last, row, before)) : null,
      el("td", { class: "about" }, badgeElements(row, before))
    );
  });
  return [
    step.boxes.map((box) => boxElement(look, box, old(box, base ? base.boxes : []))),
    step.rows.length
      ? el(
          "div",
          { class: "scroll", tabindex: 0, role: "region", "aria-label": options.caption },
          fill(table, {}, [el("caption", { class: "sr" }, options.caption), el("thead", {}, head), el("tbody", {}, body)])
        )
      : null,
    left ? el("p", { class: "note" }, `${left} ${look.row}${left === 1 ? " is" : "s are"} not shown (unchanged or filtered out)`) : null,
  ];
}

// What a sign of the legend looks like; a sign that pages do not draw has none.
function signElement(look, [sign, , sample, tone]) {
  const record = recordText(look, sample, 1);
  if (sign === "record") return el("span", { class: `cell${look.epoch ? " epoch-1" : ""}` }, record);
  if (sign === "hw" || sign === "end") return el("span", { class: `marker at-${sign}` }, sign === "hw" ? "HW" : "LEO");
  if (sign === "acked") return el("span", { class: "ack" }, "✓");
  if (sign === "lost") return el("s", { class: "lost" }, record);
  if (sign === "badge") return el("span", { class: `badge ${tone}` }, sample);
  return null;
}

export function legendElement(look) {
  const item = (symbol, text) => el("span", {}, symbol, ` ${text}`);
  return el(
    "p",
    { class: "legend" },
    look.legend.map((explained) => [explained, signElement(look, explained)]).map(([explained, sign]) => (sign ? item(sign, explained[1]) : null)),
    item(el("span", { class: "badge changed" }, "outlined"), "changed")
  );
}
