// The page of a run that is being made.

import { begin } from "./main.js";
import { Live } from "./live.js";

begin().then(([page, data]) => {
  page.live = new Live(page, data.live);
});
