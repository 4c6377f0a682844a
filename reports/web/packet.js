// Reads packets, the other half of reports/packet.py: numbers become what they stand for, fields are completed.

function state(raw, packet, fields) {
  const values = fields.slice();
  for (const [at, text] of raw.fields) values[at] = packet.texts[text];
  const failing = {};
  for (const [property, conjuncts] of Object.entries(raw.failing)) {
    failing[property] = conjuncts.map((texts) => texts.map((text) => packet.texts[text]));
  }
  return {
    by: raw.by,
    says: packet.texts[raw.says],
    values,
    marks: raw.marks,
    failing,
    rows: raw.picture ? raw.picture[0].map((at) => packet.rows[at]) : [],
    boxes: raw.picture ? raw.picture[1].map((at) => packet.boxes[at]) : [],
    hasPicture: raw.picture !== null,
  };
}

// What is not possible: the action instance and its false clauses with what decides them.
function refusalOf([instance, clauses], packet) {
  const told = clauses.map(([label, reasons]) => ({ label: packet.texts[label], reasons: reasons.map((text) => packet.texts[text]) }));
  return { instance, clauses: told };
}

// The steps of a packet; each gives on demand what may follow (`moves`), and what may not (`refused`).
export function unpack(packet) {
  const steps = [];
  let values = [];
  for (const raw of packet.steps) {
    const step = state(raw, packet, values);
    step.moves = () => raw.moves.map((move) => state(move, packet, step.values));
    step.refused = () => raw.refused.map((at) => refusalOf(packet.refusals[at], packet));
    step.seen = raw.seen || null;
    values = step.values;
    steps.push(step);
  }
  return steps;
}
