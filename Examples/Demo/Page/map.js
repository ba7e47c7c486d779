// A map with a pin for each place. It gets differences: only the pins that changed move.
import { land } from "./land.js";
import { path, projected } from "./projection.js";

const svg = (name, attributes = {}, parent = null) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent?.append(element);
  return element;
};

/** With more pins than this, they are smaller, and jump to their places: browsers draw a whole map for each frame. */
const maxMovingCount = 2000;

export class PlaceMap {
  /** The pins by the identity of their place. They stay the same elements as long as the place exists. */
  pins = new Map();
  selection = null;

  constructor(element, onSelect) {
    this.element = element;
    this.onSelect = onSelect;
    this.draw();
    this.layer = svg("g", { class: "pins" }, element);
    this.layer.addEventListener("animationend", ({ target }) => target.classList.contains("gone") ? target.remove()
      : target.classList.remove("new"));
    element.addEventListener("click", event => this.select(this.nearest(event)));
    element.addEventListener("keydown", event => this.walk(event));
  }

  /** Land and graticule. */
  draw() {
    const lines = [];
    const range = (from, to, by) => Array.from({ length: (to - from) / by + 1 }, (_, i) => from + i * by);
    for (const longitude of range(-180, 180, 30)) lines.push(path(range(-90, 90, 5).map(y => [y, longitude])));
    for (const latitude of range(-60, 60, 30)) lines.push(path([[latitude, -180], [latitude, 180]]));
    svg("path", { class: "graticule", d: lines.join("") }, this.element);
    svg("path", { class: "land", d: land.map(PlaceMap.ring).join("") }, this.element);
  }

  static ring(steps) {
    const points = [];
    for (let i = 0, x = 0, y = 0; i < steps.length; i += 2) {
      points.push([(y += steps[i + 1]) / 4, (x += steps[i]) / 4]);
    }
    return path(points, "Z");
  }

  /** Shows a whole list: the start of a stream. */
  reset(places) {
    const kept = new Set(places.map(place => place.zone));
    const deleted = [...this.pins.keys()].filter(zone => !kept.has(zone)).map(zone => ({ zone }));
    const isFirst = this.pins.size === 0;
    this.apply({ deleted, inserted: places, updated: [] }, isFirst);
  }

  /** Applies a difference of Tandem. */
  apply({ deleted, inserted, updated }, isQuiet = false) {
    const isMany = this.pins.size + inserted.length > maxMovingCount;
    for (const { zone } of deleted) this.remove(zone, isMany);
    for (const place of inserted) this.put(place, isQuiet || isMany);
    for (const { old, new: place } of updated) {
      if (old.zone !== place.zone) this.remove(old.zone, isMany);
      this.put(place, isQuiet);
    }
    this.element.classList.toggle("many", this.pins.size > maxMovingCount);
  }

  put(place, isQuiet) {
    let pin = this.pins.get(place.zone);
    if (!pin) {
      pin = svg("circle", { r: 2, role: "button", tabindex: -1 }, this.layer);
      if (!isQuiet) pin.classList.add("new");
      this.pins.set(place.zone, pin);
    }
    pin.place = place;
    pin.dataset.zone = place.zone;
    pin.setAttribute("aria-label", place.name + (place.favourite ? ", favourite" : ""));
    pin.classList.toggle("favourite", !!place.favourite);
    const [x, y] = projected(place.latitude, place.longitude);
    // Not by a transform: Chromium makes a layer of each transformed pin, and compares all for each frame.
    for (const [name, value] of [["cx", x.toFixed(2)], ["cy", y.toFixed(2)]]) {
      if (pin.getAttribute(name) !== value) pin.setAttribute(name, value);
    }
    if (this.selection === place.zone) this.mark(pin);
  }

  remove(zone, isQuiet) {
    const pin = this.pins.get(zone);
    if (!pin) return;
    this.pins.delete(zone);
    if (zone === this.selection) {
      this.selection = null;
      this.onSelect(null);
    }
    delete pin.dataset.zone;
    if (isQuiet || !matchMedia("(prefers-reduced-motion: no-preference)").matches) return pin.remove();
    pin.classList.add("gone");
  }

  /** Selects a place, which stays selected when it is updated. */
  select(zone) {
    if (zone === this.selection || !this.pins.has(zone)) return;
    this.pins.get(this.selection)?.removeAttribute("aria-pressed");
    this.selection = zone;
    const pin = this.pins.get(zone);
    if (pin) this.mark(pin);
    this.onSelect(zone);
  }

  mark(pin) {
    if (pin.getAttribute("aria-pressed")) return;
    for (const other of this.layer.querySelectorAll("[tabindex='0']")) other.setAttribute("tabindex", -1);
    pin.setAttribute("aria-pressed", true);
    pin.setAttribute("tabindex", 0);
    this.layer.append(pin);
  }

  /** The place whose pin is nearest to a click. */
  nearest(event) {
    const point = new DOMPoint(event.clientX, event.clientY)
      .matrixTransform(this.element.getScreenCTM().inverse());
    return this.best(({ x, y }) => (x - point.x) ** 2 + (y - point.y) ** 2);
  }

  /** An arrow key goes to the next pin in its direction. */
  walk(event) {
    const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const pin = this.pins.get(this.selection);
    if (!direction || !pin) return;
    event.preventDefault();
    const [x0, y0] = projected(pin.place.latitude, pin.place.longitude);
    this.select(this.best(({ zone, x, y }) => {
      const along = (x - x0) * direction[0] + (y - y0) * direction[1];
      const across = Math.abs((x - x0) * direction[1]) + Math.abs((y - y0) * direction[0]);
      return zone === this.selection || along <= 0 ? Infinity : along + 2 * across;
    }));
    this.pins.get(this.selection)?.focus();
  }

  best(cost) {
    let best = null, least = Infinity;
    for (const [zone, pin] of this.pins) {
      const [x, y] = projected(pin.place.latitude, pin.place.longitude);
      const value = cost({ zone, x, y });
      if (value < least) [best, least] = [zone, value];
    }
    return best;
  }
}
