// The page of a run that real brokers played.

import { begin } from "./main.js";
import { SeenPane, Strip, verdictsElement } from "./played.js";

begin({ SeenPane, Strip, verdictsElement });
