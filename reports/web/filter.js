// A search and choices above rows that many pages are too long without.
//
// Of a row: its elements, which are shown or hidden together, its text, and by choice what it has there. `headings` are shown
// while a row below them is.

import { el } from "./dom.js";

const ANY = "any";

function choice(name, rows, changed) {
  const values = [...new Set(rows.map((row) => row.values[name]))].filter(Boolean).sort();
  const options = [ANY, ...values].map((value) => el("option", { value }, value));
  return el("label", {}, `${name} `, el("select", { onchange: changed, "data-choice": name, "aria-label": name }, options));
}

export function rowFilter(rows, names, headings = []) {
  const count = el("span", { class: "note", role: "status", "aria-live": "polite" });
  const search = el("input", { type: "search", oninput: change });
  const choices = names.map((name) => choice(name, rows, change));
  const texts = rows.map((row) => row.text.toLowerCase());
  function change() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = choices.map((label) => label.querySelector("select")).filter((select) => select.value !== ANY);
    const shown = rows.filter((row, at) => {
      const fits = chosen.every((select) => row.values[select.dataset.choice] === select.value) && words.every((word) => texts[at].includes(word));
      for (const element of row.elements) element.hidden = !fits;
      return fits;
    });
    for (const [heading, below] of headings) heading.hidden = !below.some((element) => !element.hidden);
    count.textContent = `${shown.length} of ${rows.length} rows`;
  }
  change();
  return el("div", { class: "row filter", role: "search", "aria-label": "Filter" }, el("label", {}, "search ", search), choices, count);
}
