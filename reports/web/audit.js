// The page of an audit: groups of topics are searched and filtered, and what is on top can be copied as Markdown.
//
// Without a script all of it is there: the lists in full, and the Markdown to select.

import { el } from "./dom.js";
import { rowFilter } from "./filter.js";

const ANSWERS = { yes: "yes", no: "no", undecided: "undecided" };

function groupOf(row) {
  const part = document.getElementById(`${row.dataset.group}part`);
  return { elements: [row, part], text: `${row.textContent} ${part.dataset.topics}`, values: { answer: ANSWERS[row.dataset.answer] } };
}

const rows = [...document.querySelectorAll("tr[data-group]")].map(groupOf);
if (rows.length > 1) document.getElementById("filter").append(rowFilter(rows, ["answer"]));

const markdown = document.getElementById("markdown");

async function copy() {
  try {
    await navigator.clipboard.writeText(markdown.value);
  } catch {
    markdown.closest("details").open = true;
    markdown.select();
    document.execCommand("copy");
  }
  button.textContent = "Copied";
}

const button = el("button", { type: "button", onclick: copy }, "Copy as Markdown");
document.getElementById("copy").append(button);
