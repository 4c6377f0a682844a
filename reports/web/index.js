// The gallery's front page: its stories are listed by promise, by version and by setting, and filtered in all lists together.

import { rowFilter } from "./filter.js";

const ANSWERS = { m1: "kept", m0: "broken", mn: "undecided" };

function storyOf(row) {
  const [answer, promise] = row.cells;
  return { elements: [row], text: row.textContent, values: { answer: ANSWERS[answer.className], promise: promise.textContent } };
}

const groups = [...document.querySelectorAll(".group")].map((group) => [group, [...group.querySelectorAll("tbody tr")]]);
const sections = [...document.querySelectorAll("main > section")].map((section) => [section, [...section.querySelectorAll(".group")]]);
const rows = groups.flatMap(([, below]) => below.map(storyOf));
document.getElementById("filter").append(rowFilter(rows, ["answer", "promise"], [...groups, ...sections]));
