// One place, shown by two models of different classes that a channel keeps equal.
import { act, follow, on } from "./events.js";

export class Panel {
  constructor(element) { this.element = element; }

  /** Shows a place of a phone, or none. */
  show(address, zone) {
    this.close();
    if (!zone) return;
    this.element.innerHTML = `
      <div class="model headline"><small>Model 1: headline</small><b></b>
        <label class="star"><input type="checkbox"><span>Favourite</span></label></div>
      <div class="model badge"><small>Model 2: badge</small><b></b><span></span></div>
      <label class="field note"><span>Note</span><input placeholder="Write something" maxlength="200"></label>`;
    const [star, note] = this.element.querySelectorAll("input");
    on(star, "change", () => act(`${address}/places/favourite`, { zone, favourite: star.checked ? 1 : 0 }));
    on(note, "change", () => act(`${address}/places/note`, { zone, note: note.value }));
    this.source = follow(`${address}/panel?place=${encodeURIComponent(zone)}`, {
      headline: ({ title, isFavourite }) => {
        this.text(".headline b", title);
        star.checked = !!isFavourite;
      },
      badge: ({ latitude, longitude, note: text }) => {
        const degrees = (value, signs) => `${Math.abs(value).toFixed(1)}°\u00a0${signs[value < 0 ? 1 : 0]}`;
        this.text(".badge b", `${degrees(latitude, "NS")} ${degrees(longitude, "EW")}`);
        this.text(".badge span", text || "No note");
        if (document.activeElement !== note || note.value === note.known) note.value = text;
        note.known = text;
      },
    });
  }

  text(selector, text) {
    const element = this.element.querySelector(selector);
    if (element.textContent !== text) element.textContent = text;
  }

  close() {
    this.source?.close();
    this.source = null;
    this.element.replaceChildren();
  }
}
