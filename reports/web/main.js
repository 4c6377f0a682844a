// Where a page begins: reads its data and shows it.

import { Page } from "./page.js";

// The data's text; where it was packed to save room, unpacked by the browser.
async function dataText(element) {
  if (element.dataset.packed === undefined) return element.textContent;
  const bytes = Uint8Array.from(atob(element.textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

// `prepare` may change the data before anything is shown.
export async function begin(seen = null, prepare = () => {}) {
  const data = JSON.parse(await dataText(document.getElementById("data")));
  prepare(data);
  return [new Page(document.getElementById("page"), data, seen), data];
}
