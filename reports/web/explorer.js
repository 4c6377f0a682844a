// The page of a run that is being made. `WORDS` are put before the scripts, where the question is known.

import { Live } from "./live.js";
import { begin } from "./main.js";
import { lanesOf } from "./teller.js";
import { Walk } from "./walk.js";

let walk = null;

function prepare(data) {
  const [trace] = data.traces;
  if (WORDS.missing.length) data.note = `No page can say some of the words of this protocol, so these steps have their names alone: ${WORDS.missing.join("; ")}.`;
  walk = new Walk(data.live.protocol, trace.head, WORDS);
  trace.steps = walk.steps([]);
  trace.lanes = lanesOf(trace.steps);
}

begin(null, prepare).then(([page, data]) => new Live(page, data.live, walk));
