// What the site adds to its pages: "check here" beside the names of specs, the playground, and the filter of long tables.
// What is fetched lies in the folder check/ beside the pages, as scripts, which a page from a folder may load, too.

const PLACE = new URL("../check/", document.currentScript.src);
const asked = new Map();
const waiting = new Map();

window.ackedTake = (name, content) => {
  if (waiting.has(name)) waiting.get(name)(content);
};

function fetched(name) {
  if (!asked.has(name)) {
    asked.set(
      name,
      new Promise((done, fail) => {
        waiting.set(name, done);
        const missing = () => {
          asked.delete(name);
          fail(new Error(`check/${name}.js, which belongs beside this page, cannot be loaded`));
        };
        document.head.append(el("script", { src: new URL(`${name}.js`, PLACE).href, onerror: missing }));
      })
    );
  }
  return asked.get(name);
}

async function unpackedText(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

async function scriptOf(question) {
  const [packed, module] = await Promise.all([fetched("search"), fetched(`modules/${question.module}`)]);
  const search = JSON.parse(await unpackedText(packed));
  const spec = { ...question.spec, layout: search.layout, modules: { 32: module } };
  return search.parts.join(JSON.stringify(spec));
}

// -- the panel of one spec, with the choices that were built -----------------------------------------------------------

const WIDE = 2e6; // States from which on a search waits to be asked for.

const LABELS = { without: "without the clause" };

function choiceOf({ name, value, others }, go) {
  const options = [[value, null], ...others].sort((a, b) => a[0].localeCompare(b[0], "en", { numeric: true }));
  const select = el(
    "select",
    { "data-key": `choice ${name}`, "aria-label": LABELS[name] || name, onchange: () => go(options[select.selectedIndex][1]) },
    options.map(([text, spec]) => el("option", { selected: spec === null }, text))
  );
  return el("label", {}, `${LABELS[name] || name} `, select);
}

class Panel {
  constructor(isNamed) {
    this.isNamed = isNamed;
    this.element = el("div", { class: "check-panel" });
  }

  async go(name, starts) {
    try {
      await this.show(await fetched(`specs/${name}`), starts);
    } catch (error) {
      show(this.element, el("p", { class: "message bad", role: "status" }, `${error.message}.`));
    }
  }

  show(question, starts) {
    if (this.check) this.check.end();
    const { native, run, by, spec } = question;
    this.check = new Check({ script: () => scriptOf(question), native, by, run, steps: spec.actions });
    const promises = question.promises.map(([name, promise]) => el("li", {}, el("code", {}, name), promise ? `: ${promise}` : ""));
    show(
      this.element,
      this.isNamed ? el("p", { class: "check-title" }, el("code", {}, question.name), ` ${question.title}`) : null,
      question.choices.length
        ? el("div", { class: "row choices" }, "Built as well: ", question.choices.map((choice) => choiceOf(choice, (other) => other && this.go(other, false))))
        : el("p", { class: "note" }, "Built with these constants alone; ", el("code", {}, `acked check ${question.name} -c NAME=VALUE`), " takes others."),
      el("details", {}, el("summary", {}, "What is asked"), el("ul", {}, promises)),
      this.check.element
    );
    if (starts && native.states < WIDE) this.check.start();
  }

  close() {
    if (this.check) this.check.end();
    this.element.remove();
  }
}

// -- beside the names of specs -------------------------------------------------------------------------------------------

// Below the paragraph, or in a row of its own below that of a table.
function put(element, code) {
  const row = code.closest("tr");
  if (row) {
    const cell = el("td", { colspan: row.cells.length }, element);
    row.after(el("tr", { class: "check-row" }, cell));
    return cell.parentElement;
  }
  code.closest("p, li").after(element);
  return element;
}

function offer(code) {
  let panel = null;
  let placed = null;
  const name = code.dataset.check;
  const button = el("button", { type: "button", class: "check-here", "aria-expanded": "false", title: `Check all states of ${name} here` }, "check here");
  button.setAttribute("aria-label", `Check all states of ${name} here`);
  button.addEventListener("click", () => {
    if (panel) {
      panel.close();
      placed.remove();
      panel = null;
    } else {
      panel = new Panel(true);
      placed = put(panel.element, code);
      panel.go(name, true);
    }
    button.setAttribute("aria-expanded", String(panel !== null));
  });
  code.after(" ", button);
}

// -- the playground ---------------------------------------------------------------------------------------------------------

async function play(place) {
  const families = await fetched("playground");
  const panel = new Panel(false);
  const about = el("p", { class: "note" });
  const select = el("select", { onchange: change }, families.map(({ title }) => el("option", {}, title)));
  function change() {
    const family = families[select.selectedIndex];
    about.textContent = family.about;
    panel.go(family.first, false);
  }
  place.append(el("label", {}, "Protocols ", select), about, panel.element);
  change();
}

// -- long tables -------------------------------------------------------------------------------------------------------------

// What stands below a heading, up to the next of its rank.
function section(heading) {
  const rank = Number(heading.tagName[1]);
  const found = [heading];
  for (let next = heading.nextElementSibling; next && !(/^H[1-6]$/.test(next.tagName) && Number(next.tagName[1]) <= rank); next = next.nextElementSibling) found.push(next);
  return found;
}

function filterTable(table, names) {
  const heads = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  const rows = [...table.tBodies[0].rows].map((row) => {
    const targets = [...row.querySelectorAll('a[href^="#"]')].map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1))));
    const sections = targets.filter((target) => target && /^H[2-6]$/.test(target.tagName)).flatMap(section);
    const values = Object.fromEntries(names.map((name) => [name, row.cells[heads.indexOf(name)].textContent.trim()]));
    return { elements: [row, ...sections], text: [row, ...sections].map((element) => element.textContent).join(" "), values };
  });
  const place = table.closest(".md-typeset__scrollwrap") || table;
  place.before(rowFilter(rows, names));
}

addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("[data-check]").forEach(offer);
  document.querySelectorAll("[data-playground]").forEach(play);
  document.querySelectorAll("[data-filter]").forEach((mark) => {
    const table = [...document.querySelectorAll(".md-content table")].find((found) => mark.compareDocumentPosition(found) & Node.DOCUMENT_POSITION_FOLLOWING);
    if (table) filterTable(table, mark.dataset.filter.split("; "));
  });
});
