// The page of a run that is over.

import { begin } from "./main.js";

begin();
