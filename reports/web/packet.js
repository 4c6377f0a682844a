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

// The steps of a packet; `before` is the step that the first one follows, null where a run begins.
export function unpack(packet, before = null) {
  const steps = [];
  let values = before ? before.values : [];
  for (const raw of packet.steps) {
    const step = state(raw, packet, values);
    step.rawMoves = raw.moves;
    step.rawRefused = raw.refused;
    step.packet = packet;
    step.seen = raw.seen || null;
    values = step.values;
    steps.push(step);
  }
  return steps;
}

// What is possible in a step's state: the action instance and the state that it leads to.
export function movesOf(step) {
  return step.rawMoves.map((raw) => state(raw, step.packet, step.values));
}

// What is not possible there: the action instance and its false clauses with what decides them.
export function refusedOf(step) {
  return step.rawRefused.map((at) => {
    const [instance, clauses] = step.packet.refusals[at];
    return {
      instance,
      clauses: clauses.map(([label, reasons]) => ({
        label: step.packet.texts[label],
        reasons: reasons.map((text) => step.packet.texts[text]),
      })),
    };
  });
}
