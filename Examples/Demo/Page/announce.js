// What screen readers say on their own. All other parts of the page are silent: most of them change several times a second.

/** A text that changes again within this time is not said. */
const pause = 1000;
const maxLineCount = 5;
const said = new Map(), timers = new Map();

/** Says what is new of a subject, once it lasts. */
export function announce(subject, text) {
  clearTimeout(timers.get(subject));
  timers.set(subject, setTimeout(() => {
    const old = said.get(subject);
    said.set(subject, text);
    // The state at the start is no change.
    if (old === undefined || old === text) return;
    const list = document.querySelector(".announcements");
    list.append(Object.assign(document.createElement("p"), { textContent: `${subject}: ${text}` }));
    while (list.children.length > maxLineCount) list.firstChild.remove();
  }, pause));
}
