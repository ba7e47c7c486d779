// Requests to the programs behind the page: streams of events, and actions.

/** Each stream has an event every 5 seconds. A process that sends none for so long does not answer, even if it exists. */
const maxSilence = 12_000;

/**
 * Follows a stream of events. Each handler gets the data of the events with its name; `opened` runs at each start, and
 * `lost` when the connection ends, when nothing arrives any more, and after each attempt to connect again that fails.
 */
export function follow(address, handlers, opened = () => {}, lost = () => {}) {
  let source, heard;
  const connect = () => {
    heard = Date.now();
    source = new EventSource(address);
    source.onopen = opened;
    source.onerror = lost;
    for (const [name, handle] of Object.entries({ ...handlers, alive: () => {} })) {
      source.addEventListener(name, event => {
        heard = Date.now();
        handle(JSON.parse(event.data));
      });
    }
  };
  connect();
  const watch = setInterval(() => {
    if (Date.now() - heard < maxSilence) return;
    source.close();
    lost();
    connect();
  }, 1000);
  return {
    close() {
      clearInterval(watch);
      source.close();
    },
  };
}

/** The time of day, with seconds. */
export const timeOfDay = date => date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** Performs an action. A plain text needs no request in advance; the programs check its origin. */
export async function act(address, values = {}) {
  const answer = await fetch(address, { method: "POST", body: JSON.stringify(values) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(text || `${answer.status}`);
  return text ? JSON.parse(text) : {};
}

/** Shows an error until the next action. */
export function show(error) {
  const place = document.querySelector(".failure");
  place.textContent = error ? error.message : "";
  place.hidden = !error;
}

/** Runs an action of a control and shows its error. */
export function on(control, event, action) {
  control.addEventListener(event, async details => {
    show(null);
    try { await action(details); } catch (error) { show(error); }
  });
}
