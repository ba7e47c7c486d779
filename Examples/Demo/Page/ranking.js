// A list whose rows are inserted, deleted, moved and updated by the batches of Tandem's list differences.

const rowHeight = 40;
/** The rows drawn above and below the visible part of the list. */
const margin = 10;

export class Ranking {
  /** The rows as the database has them, in order. */
  rows = [];
  /** The elements of the rows that are drawn, by identity. */
  elements = new Map();

  constructor(element, actions) {
    this.element = element;
    this.actions = actions;
    this.content = element.appendChild(document.createElement("div"));
    element.addEventListener("scroll", () => { this.top = element.scrollTop; this.change(); }, { passive: true });
    new ResizeObserver(([{ contentRect }]) => { this.height = contentRect.height; this.change(); }).observe(element);
  }

  /** The visible part, so that drawing asks for no layout. */
  top = 0;
  height = 0;

  /** Draws at the next frame, whatever changes until then. */
  change() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  /** Shows a whole list: the start of a stream. */
  reset(rows) {
    this.rows = rows;
    this.change();
  }

  /** Offsets of deletions, updates and origins count before the batch, all others after it. */
  apply({ deletions, insertions, moves, updates }) {
    for (const [offset, row] of updates) this.rows[offset] = row;
    const leaving = new Set([...deletions, ...moves.map(([from]) => from)]);
    const arriving = new Map(insertions);
    for (const [from, to] of moves) arriving.set(to, this.rows[from]);
    const staying = this.rows.filter((_, offset) => !leaving.has(offset));
    const rows = [];
    for (let next = 0, offset = 0; offset < staying.length + arriving.size; offset += 1) {
      rows.push(arriving.has(offset) ? arriving.get(offset) : staying[next++]);
    }
    this.rows = rows;
    this.change();
  }

  /** Draws the rows in the visible part. An element that has another place now travels to it (FLIP). */
  draw() {
    const first = Math.max(0, Math.floor(this.top / rowHeight) - margin);
    const end = Math.ceil((this.top + this.height) / rowHeight) + margin;
    const visible = this.rows.slice(first, end);
    const drawn = new Set(visible.map(row => row.id));
    const isStart = this.elements.size === 0;
    this.content.style.height = `${this.rows.length * rowHeight}px`;
    for (const [id, element] of this.elements) if (!drawn.has(id)) this.remove(id, element);
    visible.forEach((row, i) => this.put(row, first + i, isStart));
    this.order();
  }

  put(row, place, isStart) {
    let element = this.elements.get(row.id);
    const old = element?.place;
    if (!element) {
      element = this.element.ownerDocument.createElement("div");
      element.setAttribute("role", "listitem");
      element.innerHTML = `<span class="rank"></span><input class="name" aria-label="Name">
        <span class="score"></span><button class="more">+10</button>`;
      this.elements.set(row.id, element);
      this.content.append(element);
      this.actions(element, () => element.row);
      if (!isStart) element.animate([{ opacity: 0, scale: 0.96 }, {}], { duration: 250 });
    }
    if (old !== place) {
      element.place = place;
      element.style.top = `${place * rowHeight}px`;
      element.setAttribute("aria-posinset", place + 1);
      element.querySelector(".rank").textContent = place + 1;
      if (old !== undefined) this.travel(element, (old - place) * rowHeight);
    }
    element.setAttribute("aria-setsize", this.rows.length);
    if (element.row !== row) this.fill(element, row);
  }

  /** First, last, invert, play: the element is at its new place, and is animated from the old one. */
  travel(element, distance) {
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    element.animate([{ translate: `0 ${distance}px` }, { translate: "0 0" }],
      { duration: 420, easing: "cubic-bezier(.2,.8,.2,1)", composite: "add" });
  }

  fill(element, row) {
    const old = element.row;
    element.row = row;
    element.dataset.id = row.id;
    const name = element.querySelector(".name");
    if (document.activeElement !== name) name.value = row.name;
    element.querySelector(".score").textContent = row.score;
    element.querySelector(".more").setAttribute("aria-label", `10 points for ${row.name}`);
    if (old && old.score !== row.score) {
      element.querySelector(".score").animate([{ color: "var(--accent)", scale: 1.25 }, {}], { duration: 600 });
    }
  }

  remove(id, element) {
    this.elements.delete(id);
    delete element.dataset.id;
    element.removeAttribute("role");
    const isScrolledAway = this.rows.some(row => row.id === id);
    if (isScrolledAway || matchMedia("(prefers-reduced-motion: reduce)").matches) return element.remove();
    element.animate([{}, { opacity: 0, scale: 0.96 }], { duration: 250, fill: "forwards" })
      .finished.then(() => element.remove());
  }

  /** Brings the elements into the order of the rows, for screen readers and the tab key, once nothing moves. */
  order() {
    clearTimeout(this.ordering);
    this.ordering = setTimeout(() => {
      const elements = [...this.elements.values()].sort((a, b) => a.place - b.place);
      if (elements.every((element, i) => this.content.children[i] === element)) return;
      // The element with the focus stays where it is: it would lose the focus.
      const focused = elements.findIndex(element => element.contains(document.activeElement));
      if (focused >= 0) elements[focused].before(...elements.slice(0, focused));
      this.content.append(...elements.slice(focused + 1));
    }, 600);
  }
}
