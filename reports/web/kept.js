// The page of promises that are kept: what was asked, and the search that visits every state once more.

import { Check } from "./check.js";
import { el, show } from "./dom.js";

function keptPage(data) {
  const promises = data.promises.map(({ name, promise, source }) =>
    el("div", { class: "promise kept" }, el("p", { class: "promised" }, `${name}: ${promise}`), source ? el("p", { class: "source" }, source) : null)
  );
  show(
    document.getElementById("page"),
    el(
      "header",
      {},
      el("p", { class: "brand" }, data.home ? el("a", { href: data.home }, "acked: all stories") : "acked"),
      el("h1", {}, el("bdi", {}, data.title)),
      el("p", { class: "subject" }, el("code", {}, data.subject))
    ),
    el("main", { id: "main" }, el("p", { class: "prevented" }, data.answer), new Check(data.check).element, promises)
  );
}

keptPage(JSON.parse(document.getElementById("data").textContent));
