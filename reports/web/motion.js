// Motion, where the reader wants it: what stands elsewhere after a step moves there, so that the eye follows.

const MOTION_MS = 350;

const movable = (place) => [...place.querySelectorAll("[data-moves]")];

// Draws anew what is in a place, and lets what is marked by `data-moves` go from where it was.
export function drawMoving(place, draw) {
  if (!matchMedia("(prefers-reduced-motion: no-preference)").matches) {
    draw();
    return;
  }
  const before = new Map(movable(place).map((element) => [element.dataset.moves, element.getBoundingClientRect()]));
  draw();
  for (const element of movable(place)) {
    const from = before.get(element.dataset.moves);
    const to = element.getBoundingClientRect();
    if (!from || (from.left === to.left && from.top === to.top)) continue;
    element.animate([{ transform: `translate(${from.left - to.left}px, ${from.top - to.top}px)` }, { transform: "none" }], { duration: MOTION_MS, easing: "ease-out" });
  }
}
