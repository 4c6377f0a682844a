// The page of promises that are kept: what was asked, how large the space of states is, and the search that visits it once more.

import { Check } from "./check.js";
import { el, show, svg } from "./dom.js";

const count = (value) => value.toLocaleString("en-US");

// How many states each level has, as bars.
function levels(sizes) {
  const most = Math.max(...sizes);
  const widest = sizes.indexOf(most);
  const bars = sizes.map((size, at) => svg("rect", { x: at, width: 0.8, y: 100 - (100 * size) / most, height: (100 * size) / most }));
  const words = `${count(sizes.length)} levels; the widest is level ${widest + 1} with ${count(most)} states`;
  return el("figure", { class: "levels" }, svg("svg", { viewBox: `0 0 ${sizes.length} 100`, preserveAspectRatio: "none", role: "img", "aria-label": words }, bars), el("figcaption", { class: "note" }, words));
}

function actionTable(actions) {
  const heads = ["action", "times enabled", "new states"].map((name) => el("th", { scope: "col" }, name));
  const rows = actions.map(([name, ...counts]) => el("tr", {}, el("th", { scope: "row" }, el("code", {}, name)), counts.map((value) => el("td", {}, count(value)))));
  return el("details", {}, el("summary", {}, `${count(actions.filter(([, enabled]) => enabled).length)} of ${count(actions.length)} actions happen`), el("div", { class: "scroll" }, el("table", { class: "counts" }, el("thead", {}, el("tr", {}, heads)), el("tbody", {}, rows))));
}

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
    el(
      "main",
      { id: "main" },
      el("p", { class: "prevented" }, data.answer),
      data.check ? new Check(data.check).element : el("p", { class: "note" }, "That only the graph of all states and steps decides, which a browser's search does not keep."),
      levels(data.levels),
      actionTable(data.actions),
      promises
    )
  );
}

keptPage(JSON.parse(document.getElementById("data").textContent));
