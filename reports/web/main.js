// Where the page begins: reads its data and shows it.

import { Page } from "./page.js";
import { Live } from "./live.js";

const data = JSON.parse(document.getElementById("data").textContent);
const page = new Page(document.getElementById("page"), data);
if (data.live) page.live = new Live(page, data.live);
