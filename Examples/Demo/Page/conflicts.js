// The conflicts of a phone: the three versions, what was done, and a way to choose otherwise.
import { act, on } from "./events.js";

const outcomes = {
  local: "This phone's version was kept.",
  remote: "The server's version was kept.",
  base: "The version before both was chosen.",
  merged: "The policy merged both.",
  chosen: "Another version was chosen.",
  unresolved: "No policy decides. Choose a version; until then, the row has the server's.",
};
const versions = { base: "Before", local: "This phone", remote: "Server" };

export function showConflicts(element, address, conflicts) {
  const focus = element.contains(document.activeElement) ? document.activeElement : null;
  const open = conflicts.filter(conflict => conflict.resolution === "unresolved").length;
  element.hidden = conflicts.length === 0;
  element.querySelector("small").textContent = open ? `${open} open` : "all resolved";
  element.querySelector("ol").replaceChildren(...conflicts.map(conflict => card(address, conflict)));
  // The same button of the same conflict keeps the focus.
  const id = focus?.closest("li")?.dataset.id;
  if (focus) (element.querySelector(`[data-id="${id}"] .${focus.className}`) ?? element).focus();
}

function card(address, conflict) {
  const item = document.createElement("li");
  const isOpen = conflict.resolution === "unresolved";
  item.className = isOpen ? "open" : "resolved";
  item.dataset.id = conflict.id;
  const title = document.createElement("b");
  title.textContent = conflict.title;
  const kind = document.createElement("span");
  kind.textContent = conflict.kind;
  const text = document.createElement("p");
  text.textContent = isOpen ? outcomes.unresolved
    : `${outcomes[conflict.resolution]} Now: ${conflict.present ?? "no record"}. A version above replaces that.`;
  const choices = document.createElement("div");
  choices.className = "versions";
  for (const [name, label] of Object.entries(versions)) choices.append(version(address, conflict, name, label));
  item.append(title, kind, choices, text);
  return item;
}

/** A version, which is also the button that chooses it. */
function version(address, conflict, name, label) {
  const button = document.createElement("button");
  button.className = name;
  const small = document.createElement("small");
  small.textContent = label;
  const value = document.createElement("span");
  value.textContent = conflict[name] ?? "–";
  button.append(small, value);
  const verb = conflict.resolution === "unresolved" ? "Use" : "Replace by";
  button.setAttribute("aria-label", `${verb} ${label}: ${conflict[name] ?? "no record"}`);
  on(button, "click", () => act(`${address}/conflicts/resolve`, { id: conflict.id, choice: name }));
  return button;
}
