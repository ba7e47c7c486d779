// Requests to the programs behind the page: streams of events, and actions.

/** Follows a stream of events. Each handler gets the data of the events with its name; `opened` runs at each start. */
export function follow(address, handlers, opened = () => {}) {
  const source = new EventSource(address);
  source.onopen = opened;
  for (const [name, handle] of Object.entries(handlers)) {
    source.addEventListener(name, event => handle(JSON.parse(event.data)));
  }
  return source;
}

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
