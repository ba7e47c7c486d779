// The middle of the page: the server's state, the commits that travel, and the feed.
import { announce } from "./announce.js";
import { act, on, timeOfDay } from "./events.js";

const maxCommitCount = 7;

export class Server {
  constructor(element, phones) {
    this.element = element;
    this.phones = phones;
    this.find = selector => element.querySelector(selector);
    this.form = this.find(".feed");
    on(this.form, "submit", event => { event.preventDefault(); return this.save(); });
    on(this.form.elements.zone, "change", () => this.fill());
    on(this.form.elements.remove, "click", () => act("/feed/remove", { zone: this.form.elements.zone.value }));
    on(this.form.elements.drift, "click", () => act("/feed/drift"));
    on(this.form.elements.reset, "click", () => act("/feed/reset"));
  }

  /** The server answers. What it has follows. */
  open() { this.lostAt = null; }

  /** The server does not answer: nothing that is shown is known to be true any more. */
  lose() {
    this.lostAt ??= new Date();
    this.compare();
  }

  showRecords({ records }) { this.find(".records").textContent = records; }

  showSpace({ revision, digest }) {
    this.revision = revision;
    this.find(".revision").textContent = revision;
    this.find(".digest").textContent = digest.replace(/(.{8})(?=.)/g, "$1 ");
    this.compare();
  }

  /** Compares the phones with the server: a phone in step at a revision has the digest of the server. */
  compare() {
    const states = [...this.phones.values()].map(phone => phone.status);
    const isEqual = !this.lostAt && states.length > 0 && states.every(status =>
      status?.isOnline && ["upToDate", "conflicts"].includes(status.state) && !status.pending
        && status.revision === this.revision);
    this.element.classList.toggle("equal", isEqual);
    this.showAuthors();
    const text = this.lostAt ? `No answer since ${timeOfDay(this.lostAt)}. The demo may have ended.`
      : isEqual ? "Both phones have exactly these records." : "Not every phone has this revision.";
    if (this.find(".verdict").textContent !== text) this.find(".verdict").textContent = text;
    announce("Server", text);
  }

  showCommit(commit) {
    const { version, changes } = commit;
    const list = this.find(".commits");
    // The stream begins anew after a loss of the connection.
    if ([...list.children].some(item => item.commit.version === version)) return;
    const item = document.createElement("li");
    item.commit = commit;
    for (const text of [version, "", `${changes} change${changes === 1 ? "" : "s"}`]) {
      item.append(Object.assign(document.createElement("span"), { textContent: text }));
    }
    list.prepend(item);
    while (list.children.length > maxCommitCount) list.lastChild.remove();
    this.showAuthors();
    this.travel(this.phone(commit)?.element.id);
  }

  /** The phone that made a commit, by the replica that the space has for it. */
  phone({ replica }) { return [...this.phones.values()].find(phone => replica && phone.status?.replica === replica); }

  /** The authors of the commits. After a reload, the phones are known later than the commits. */
  showAuthors() {
    for (const item of this.find(".commits").children) {
      const author = item.commit.author ?? this.phone(item.commit)?.find("h2").textContent ?? "Another replica";
      if (item.children[1].textContent !== author) item.children[1].textContent = author;
    }
  }

  /** A commit goes from its phone to the server, and from there to the others. */
  travel(source) {
    if (!matchMedia("(prefers-reduced-motion: no-preference)").matches) return;
    if (this.find(".wire").childElementCount > 20) return;
    const way = { a: [["0%", "50%"], ["50%", "100%"]], b: [["100%", "50%"], ["50%", "0%"]] }[source]
      ?? [["50%", "0%"], ["50%", "100%"]];
    way.forEach(([from, to], i) => {
      const dot = this.find(".wire").appendChild(document.createElement("b"));
      dot.animate([{ left: from, opacity: 1 }, { left: to, opacity: 1 }],
        { duration: 450, delay: source ? i * 450 : 0, easing: "ease-in-out" }).finished.then(() => dot.remove());
    });
  }

  places = new Map();

  /** The places of the feed, for its form. */
  showFeed({ deleted, inserted, updated }) {
    for (const { zone } of deleted) this.places.delete(zone);
    for (const place of [...inserted, ...updated.map(update => update.new)]) this.places.set(place.zone, place);
    if (deleted.length + inserted.length === 0) return this.fill();
    const chosen = this.form.elements.zone.value || "Europe/Rome";
    const places = [...this.places.values()].sort((a, b) => a.name.localeCompare(b.name));
    this.form.elements.zone.replaceChildren(...places.map(({ zone, name }) => new Option(name, zone)));
    this.form.elements.zone.value = this.places.has(chosen) ? chosen : places[0]?.zone;
    this.fill();
  }

  fill() {
    const place = this.places.get(this.form.elements.zone.value);
    if (!place || this.form.querySelector(".pair :focus")) return;
    this.form.elements.latitude.value = place.latitude;
    this.form.elements.longitude.value = place.longitude;
  }

  save() {
    const { zone, latitude, longitude } = this.form.elements;
    return act("/feed/move", { zone: zone.value, latitude: Number(latitude.value), longitude: Number(longitude.value) });
  }

  showMirror({ text }) {
    this.find(".report").textContent = `Mirror: ${text}`;
    announce("Mirror", text);
  }
}
