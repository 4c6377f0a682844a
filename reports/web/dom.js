// Making elements. Text goes in as text only, never as markup: whatever a name or a title contains is shown as it is.

const SVG = "http://www.w3.org/2000/svg";

export function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}

export function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

// Replaces what a place shows, and keeps the keyboard's focus on the control of the same data-key, if it is shown again.
export function show(place, ...children) {
  const focused = place.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  place.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  if (focused) {
    const again = [...place.querySelectorAll("[data-key]")].find((element) => element.dataset.key === focused);
    if (again) again.focus({ preventScroll: true });
  }
}

export function hidden(text) {
  return el("span", { class: "sr" }, text);
}

// What the address says behind its #, and the history's state. The frame of a notebook has no address of its own, but a history.
export function keepAddress(link, state = history.state, isNew = false) {
  const change = isNew ? "pushState" : "replaceState";
  history[change]({ ...state, link }, "", location.protocol === "about:" ? undefined : link);
}

export function keptAddress() {
  return location.protocol === "about:" ? (history.state && history.state.link) || "" : location.hash;
}
