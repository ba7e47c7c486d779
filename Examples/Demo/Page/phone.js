// One phone: everything in it comes from the process of its own replica.
import { announce } from "./announce.js";
import { showConflicts } from "./conflicts.js";
import { act, follow, on, show, timeOfDay } from "./events.js";
import { PlaceMap } from "./map.js";
import { Panel } from "./panel.js";
import { Ranking } from "./ranking.js";

export class Phone {
  address = null;
  order = "score";
  status = null;

  constructor(element, onStatus) {
    this.element = element;
    this.onStatus = onStatus;
    element.append(document.getElementById("phone").content.cloneNode(true));
    this.find = selector => element.querySelector(selector);
    this.find(".conflicts").id = `${element.id}-conflicts`;
    this.find(".status a").href = `#${element.id}-conflicts`;
    this.map = new PlaceMap(this.find(".map"), zone => this.panel.show(this.address, zone));
    this.panel = new Panel(this.find(".panel"));
    this.ranking = new Ranking(this.find(".rows"), (row, current) => this.bind(row, current));
    this.connectControls();
    setInterval(() => this.showAge(), 1000);
  }

  /** Takes note of the process behind the phone, which may be a new one. */
  present(process) {
    this.find("h2").id = `${process.name}-title`;
    this.find("h2").textContent = process.title;
    this.find("h2").title = `process ${process.pid}`;
    this.find("code").textContent = process.statement;
    const hasFocus = this.element.contains(document.activeElement);
    this.find(".dead").hidden = process.isRunning;
    this.find(".screen").inert = !process.isRunning;
    this.find(".online").disabled = !process.isRunning;
    this.element.dataset.pid = process.isRunning ? process.pid : "";
    // The control that had the focus may be gone.
    if (hasFocus && !this.element.contains(document.activeElement)) this.find(process.isRunning ? ".kill" : ".start").focus();
    if (!process.isRunning) return this.disconnect();
    if (process.pid !== this.pid) {
      this.pid = process.pid;
      this.address = process.address;
      this.connect();
    }
  }

  connect() {
    const isFirst = !this.source;
    this.source?.close();
    const filter = this.find(".favourites").checked ? "&only=favourites" : "";
    let hasPins = false, hasRows = false;
    this.source = follow(`${this.address}/events?order=${this.order}${filter}`, {
      pins: difference => {
        if (hasPins) this.map.apply(difference); else this.map.reset(difference.inserted);
        hasPins = true;
        this.find(".pin-count").textContent = this.map.pins.size;
        if (!this.map.selection) this.map.select("Europe/Rome");
      },
      ranking: batches => {
        if (hasRows) batches.forEach(batch => this.ranking.apply(batch));
        else this.ranking.reset(batches.flatMap(batch => batch.insertions.map(([, row]) => row)));
        hasRows = true;
        this.find(".row-count").textContent = this.ranking.rows.length;
      },
      network: ({ isOnline }) => this.showStatus({ ...this.status, isOnline: !!isOnline }),
      status: status => this.showStatus({ ...status, isOnline: this.status?.isOnline ?? true }),
      failure: ({ message }) => show(new Error(message)),
      conflicts: conflicts => showConflicts(this.find(".conflicts"), this.address, conflicts),
    }, () => {
      hasPins = hasRows = false;
      this.lostAt = null;
      this.status = { ...this.status, state: null };
    }, () => this.lose());
    if (!isFirst && this.map.selection) this.panel.show(this.address, this.map.selection);
  }

  disconnect() {
    this.source?.close();
    this.pid = null;
    this.showState("Killed", "", 0);
    this.element.dataset.state = "killed";
    this.status = { ...this.status, isOnline: true, state: "killed" };
    this.onStatus(this);
  }

  /** The process does not answer: what the page shows of it may be old. */
  lose() {
    if (this.status?.state === "killed") return;
    this.lostAt ??= new Date();
    this.status = { ...this.status, state: "lost" };
    this.element.dataset.state = "lost";
    this.showState("No answer", `since ${timeOfDay(this.lostAt)}`, 0);
    this.onStatus(this);
  }

  showStatus(status) {
    // Nobody knows when a phone that this page has just met was synchronized.
    const isNews = this.status?.replica && status.revision !== this.status.revision;
    status.syncedAt = isNews ? Date.now() : this.status?.syncedAt;
    this.status = status;
    if (!status.state || this.lostAt) return;
    this.element.dataset.state = status.isOnline ? status.state : "offline";
    this.find(".online").checked = status.isOnline;
    this.showState(!status.isOnline ? "Offline"
      : { upToDate: "In step", pending: "Synchronizing", conflicts: "", blocked: "Blocked" }[status.state],
      this.age(), status.conflicts);
    this.onStatus(this);
  }

  /** Shows the state, and the open conflicts as a link to them. */
  showState(state, details, conflictCount) {
    const [name, link] = [this.find(".status b"), this.find(".status a")];
    const conflicts = conflictCount ? `${conflictCount} open conflict${conflictCount === 1 ? "" : "s"}` : "";
    if (name.textContent !== state) name.textContent = state;
    if (link.textContent !== conflicts) link.textContent = conflicts;
    link.hidden = !conflicts;
    this.showDetails(details);
    announce(this.find("h2").textContent, [state, conflicts].filter(text => text).join(", "));
  }

  showDetails(text) {
    if (this.find(".status span").textContent !== text) this.find(".status span").textContent = text;
  }

  showAge() {
    if (this.status && this.status.state !== "killed" && !this.lostAt) this.showDetails(this.age());
  }

  /** What is known beside the state: the revision, and how old it is. */
  age() {
    const { status } = this;
    const parts = [];
    if (status.pending) parts.push(`${status.pending} waiting`);
    if (status.revision) parts.push(`revision ${status.revision}`);
    if (status.syncedAt) {
      const seconds = Math.round((Date.now() - status.syncedAt) / 1000);
      parts.push(seconds < 2 ? "synced now" : seconds < 60 ? `synced ${seconds} s ago`
        : `synced ${Math.floor(seconds / 60)} min ago`);
    }
    return parts.join(" · ");
  }

  /** Connects the controls of a row of the ranking. */
  bind(element, current) {
    const name = element.querySelector(".name");
    on(element.querySelector(".more"), "click", () => this.act("players/score", { id: current().id, points: 10 }));
    on(name, "change", () => this.act("players/rename", { id: current().id, name: name.value }));
    name.addEventListener("blur", () => { name.value = current().name; });
    name.addEventListener("keydown", event => { if (event.key === "Enter") name.blur(); });
  }

  connectControls() {
    for (const name of ["shuffle", "delete", "add", "bomb"]) {
      on(this.find(`.${name}`), "click", () => this.act(`players/${name}`));
    }
    for (const order of ["score", "name"]) {
      on(this.find(`.by-${order}`), "click", () => this.sort(order));
    }
    on(this.find(".favourites"), "change", () => this.connect());
    on(this.find(".online"), "change", event => this.act("network", { online: event.target.checked ? 1 : 0 }));
    on(this.find(".kill"), "click", () => act("/phones/kill", { phone: this.element.id }));
    on(this.find(".start"), "click", () => act("/phones/start", { phone: this.element.id }));
    on(this.find(".copy"), "click", () => navigator.clipboard.writeText(this.find("code").textContent));
  }

  sort(order) {
    this.order = order;
    for (const name of ["score", "name"]) this.find(`.by-${name}`).setAttribute("aria-pressed", name === order);
    this.connect();
  }

  act(action, values) { return act(`${this.address}/${action}`, values); }
}
