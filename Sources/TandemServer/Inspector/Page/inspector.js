// The inspector's page: asks the server for its state again and again, and shows it. It changes what administrators ask for.

const interval = 2000, pauseAfterFailure = 10_000;
const find = selector => document.querySelector(selector);
const storage = sessionStorage;
/** The space that the address of the page names. */
const named = () => {
  try { return decodeURIComponent(location.hash.slice(1)) || null; } catch { return null; }
};
let space = named();
let timer = null;
let lastAnswer = null;
let mayAdminister = false;

// MARK: Requests

class Refusal extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function get(address, body) {
  const token = storage.getItem("token");
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(address, {
    cache: "no-store", headers, method: body ? "POST" : "GET", body: body && JSON.stringify(body),
  });
  const text = await answer.text();
  if (answer.ok) return text;
  let message = text;
  try { message = JSON.parse(text).message; } catch { /* A proxy answered. */ }
  throw new Refusal(answer.status, message || `status ${answer.status}`);
}

/** The list of spaces, with the chosen one. If that is gone, the list alone. */
async function state() {
  const search = encodeURIComponent(find(".search input").value);
  try {
    return JSON.parse(await get(`inspect/state?search=${search}${space ? `&space=${encodeURIComponent(space)}` : ""}`));
  } catch (refusal) {
    if (!space || ![400, 404, 503].includes(refusal.status)) throw refusal;
    return { ...JSON.parse(await get(`inspect/state?search=${search}`)), problem: `${space}: ${refusal.message}` };
  }
}

let turn = 0;

/** Asks once; then again after a while, unless the page is hidden or a later request has begun. */
async function refresh() {
  clearTimeout(timer);
  const own = turn += 1;
  let pause = interval;
  try {
    const report = await state();
    const metrics = await get("metrics");
    if (own !== turn) return;
    if (!space && report.spaces.length) return choose(report.spaces[0].name);
    lastAnswer = Date.now();
    if (report.problem) pause = pauseAfterFailure;
    show(report);
    showMetrics(parsed(metrics));
  } catch (error) {
    if (own !== turn) return;
    if ([401, 403].includes(error.status)) return askForToken(error);
    pause = pauseAfterFailure;
    find(".age").dataset.problem = error.message;
  }
  showAge();
  if (!document.hidden) timer = setTimeout(refresh, pause);
}

function choose(name) {
  space = name;
  history.replaceState(null, "", name ? `#${encodeURIComponent(name)}` : location.pathname);
  return refresh();
}

// MARK: The token

function askForToken(error) {
  const hadToken = storage.getItem("token") !== null;
  storage.removeItem("token");
  find("main").hidden = true;
  find(".leave").hidden = true;
  find(".tokens-card").hidden = true;
  hideSecret();
  find(".token").hidden = false;
  find(".age").textContent = "";
  find(".token .problem").hidden = error.status === 401 && !hadToken;
  find(".token .problem").textContent = error.message;
  find(".token input").focus();
}

find(".token").addEventListener("submit", event => {
  event.preventDefault();
  storage.setItem("token", find(".token input").value.trim());
  find(".token input").value = "";
  refresh();
});

find(".leave").addEventListener("click", () => {
  storage.removeItem("token");
  location.reload();
});

// MARK: What is shown

const element = (name, attributes = {}, ...children) => {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
};
const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
const short = id => id.slice(0, 8);

function text(selector, value) {
  const place = find(selector);
  if (place.textContent !== String(value)) place.textContent = value;
}

/** Makes the children of a list equal to rows. Elements of rows that did not change stay. */
function list(selector, rows, make) {
  const place = find(selector);
  rows.forEach((row, i) => {
    const key = JSON.stringify(row);
    const old = place.children[i];
    if (old?.dataset.key === key) return;
    const made = make(row);
    made.dataset.key = key;
    if (old) old.replaceWith(made); else place.append(made);
  });
  while (place.children.length > rows.length) place.lastChild.remove();
}

function show(report) {
  find("main").hidden = false;
  find(".token").hidden = true;
  find(".leave").hidden = storage.getItem("token") === null;
  delete find(".age").dataset.problem;
  text(".space-count", report.spaceCount.toLocaleString("en"));
  const rows = report.spaces.map(entry => ({ ...entry, isChosen: entry.name === space }));
  const focused = document.activeElement?.dataset?.name;
  list(".spaces", rows, spaceRow);
  if (focused) document.querySelector(`.spaces [data-name="${CSS.escape(focused)}"]`)?.focus();
  const hiddenCount = report.foundCount - report.spaces.length;
  find(".more").hidden = report.foundCount > 0 && hiddenCount === 0;
  text(".more", report.spaceCount === 0 ? "There is no space that this token may inspect."
    : report.foundCount === 0 ? "No name has this part."
    : `${plural(hiddenCount, "more space")}: type a part of the name.`);
  find(".details > .problem").hidden = !report.problem;
  text(".details > .problem", report.problem ?? "");
  find(".space").hidden = !report.space;
  if (report.space) showSpace(report.space);
  mayAdminister = report.mayChangeTokens || !!report.space?.members;
  showMembers(report.space?.members);
  const isFirst = find(".tokens-card").hidden;
  find(".tokens-card").hidden = !report.mayChangeTokens;
  if (report.mayChangeTokens && isFirst) showTokens();
}

function spaceRow({ name, version, isChosen }) {
  const button = element("button", {}, element("span", { textContent: name }),
    element("span", { textContent: version ?? "unusable" }));
  button.dataset.name = name;
  if (isChosen) button.setAttribute("aria-current", "true");
  button.addEventListener("click", () => {
    find(".space-card .done").hidden = true;
    choose(name);
  });
  return element("li", { className: version === null ? "unusable" : "" }, button);
}

function showSpace({ name, state, byteCount, replicaCount, replicas, commits, overruledCount, overruled }) {
  const version = Number(state.revision.split(".")[1]);
  text("#space-title", name);
  text(".log-name", name);
  text(".revision", version.toLocaleString("en"));
  text(".replica-count", replicaCount.toLocaleString("en"));
  text(".size", byteCount === null ? "not known: the database keeps all spaces together" : size(byteCount));
  text(".tables", state.tables.map(table => table.name).join(", ") || "none yet");
  text(".digest", state.digest.replace(/(.{8})(?=.)/g, "$1 "));
  text(".horizon", state.horizon === 0 ? "complete" : `since version ${state.horizon.toLocaleString("en")}; older commits are forgotten`);
  list(".replicas", replicas, replicaRow);
  text(".overruled-count", overruledCount > overruled.length
    ? `the last ${overruled.length} of ${overruledCount.toLocaleString("en")}` : "");
  list(".overruled", overruled, row => element("tr", {}, cell(row.record), cell(row.recordVersion, "number"), cell(row.version, "number")));
  list(".commits", commits, row => element("tr", {}, cell(row.version), cell(time(row.time), "time"), cell(row.account ?? "–"),
    cell(short(row.replica), "id", row.replica)));
}

function replicaRow({ id, account, sequence, outcome, time: accepted, recordCount, records }) {
  const row = element("tr", { className: outcome === "accepted" ? "" : "attention" }, cell(short(id), "id", id), cell(account ?? "–"),
    cell(outcome), cell(accepted === null ? "–" : time(accepted), "time"), cell(sequence, "number"));
  if (recordCount) {
    const others = recordCount - records.length;
    row.children[2].append(element("small", { textContent: records.join("; ") + (others ? `; ${others} more` : "") }));
  }
  return row;
}

const cell = (value, className = "", title = "") => element("td", { textContent: value, className, title });

const time = milliseconds => new Date(milliseconds).toLocaleString("en-GB",
  { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" });

function size(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let i = 0;
  for (; bytes >= 1000 && i < units.length - 1; i += 1) bytes /= 1000;
  return `${bytes.toLocaleString("en", { maximumSignificantDigits: 3 })} ${units[i]}`;
}

/** The text of Prometheus as an array of name, labels and value. */
function parsed(metrics) {
  return [...metrics.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name, labels = "", value]) => ({ name, labels, value: Number(value) }));
}

function showMetrics(samples) {
  const sum = (name, has = () => true) => samples.filter(sample => sample.name === name && has(sample.labels))
    .reduce((total, sample) => total + sample.value, 0);
  const outcome = name => sum("tandem_commits_total", labels => labels.includes(`"${name}"`));
  const count = sum("tandem_commit_seconds_count");
  const quantile = share => {
    const bucket = samples.filter(sample => sample.name === "tandem_commit_seconds_bucket").find(sample => sample.value >= share * count);
    const bound = bucket?.labels.match(/le="(.*)"/)[1];
    return !count ? "–" : bound === "+Inf" ? "over 5 s" : `within ${Number(bound) * 1000} ms`;
  };
  const figures = [
    ["Event streams", sum("tandem_event_streams")],
    ["Connections", sum("tandem_http_connections")],
    ["Requests", sum("tandem_http_requests_total")],
    ["Commits accepted", outcome("accepted")],
    ["Commits in conflict", outcome("conflict")],
    ["Half of the commits", quantile(0.5)],
    ["99 % of the commits", quantile(0.99)],
    ["Commits refused", outcome("refused")],
    ["Without a valid token", sum("tandem_authentication_failures_total")],
    ["Streams cut off", sum("tandem_event_streams_cut_total")],
    ["Answers 5xx", sum("tandem_http_requests_total", labels => labels.includes('status="5')), true],
    ["Errors of files", sum("tandem_space_errors_total") + sum("tandem_token_file_errors_total"), true],
  ];
  list(".metrics", figures, ([name, value, isAlarm]) => element("div", { className: isAlarm && value ? "alarm" : "" },
    element("dt", { textContent: name }), element("dd", { textContent: value.toLocaleString("en") })));
}

function showAge() {
  const age = find(".age");
  if (!find(".token").hidden) return;
  age.classList.toggle("late", !!age.dataset.problem);
  text(".age", age.dataset.problem
    ? `No answer${lastAnswer ? ` since ${new Date(lastAnswer).toLocaleTimeString("en-GB")}` : ""}: ${age.dataset.problem}`
    : `${mayAdminister ? "Refreshed" : "Read only · refreshed"} every ${interval / 1000} seconds`);
}

// MARK: Administration

/** Asks for an action; returns the answer, or null after a refusal, which the card of a place shows. */
async function act(place, action) {
  const problem = place.closest(".card").querySelector(".problem");
  try {
    const answer = JSON.parse(await get("inspect/action", action));
    problem.hidden = true;
    return answer;
  } catch (error) {
    problem.textContent = error.message;
    problem.hidden = false;
    return null;
  }
}

/** Calls a function with the fields of a form whenever it is sent. */
function whenSent(selector, body) {
  const form = find(selector);
  form.addEventListener("submit", async event => {
    event.preventDefault();
    const button = form.querySelector("button");
    if (button.disabled) return;
    button.disabled = true;
    try { await body(Object.fromEntries(new FormData(form)), form); } finally { button.disabled = false; }
  });
}

function showMembers(members) {
  for (const card of document.querySelectorAll(".members-card, .space-card")) card.hidden = !members;
  if (members) list(".members", members.map(member => ({ ...member, space })), memberRow);
}

function memberRow({ account, role, space }) {
  const select = element("select", { ariaLabel: `Role of ${account}` },
    ...["reader", "writer", "owner"].map(name => element("option", { textContent: name })));
  select.value = role;
  const set = async (place, role) => {
    const answer = await act(place, { action: "setMember", space, account, role });
    if (!answer) select.value = select.dataset.role;
    refresh();
  };
  select.dataset.role = role;
  select.addEventListener("change", () => set(select, select.value));
  const remove = sureButton("Remove", () => set(remove, null));
  return element("tr", {}, cell(account), element("td", {}, select), element("td", { className: "number" }, remove));
}

/** A button that acts at the second click. */
function sureButton(title, action) {
  const button = element("button", { type: "button", textContent: title });
  const reset = () => { button.textContent = title; delete button.dataset.sure; };
  button.addEventListener("click", () => {
    if (button.dataset.sure) { reset(); action(); } else { button.textContent = `${title}: sure?`; button.dataset.sure = "yes"; }
  });
  button.addEventListener("blur", reset);
  return button;
}

whenSent(".add-member", async ({ account, role }, form) => {
  if (await act(form, { action: "setMember", space, account, role })) form.reset();
  await refresh();
});

/** Says what was done to a space. */
function tell(message) {
  find(".space-card .done").hidden = false;
  find(".space-card .done").textContent = message;
}

whenSent(".forget", async ({ keep }, form) => {
  if (!await act(form, { action: "forget", space, keep })) return;
  form.reset();
  tell(`${space}: only the last commits are kept.`);
  await refresh();
});

whenSent(".rename", async ({ name, confirm }, form) => {
  const former = space;
  if (!await act(form, { action: "rename", space: former, confirm, name })) return;
  form.reset();
  tell(`${former} is called ${name} now.`);
  await choose(name);
});

whenSent(".delete", async ({ confirm }, form) => {
  const former = space;
  if (!await act(form, { action: "delete", space: former, confirm })) return;
  form.reset();
  tell(`${former} is deleted.`);
  await choose(null);
});

async function showTokens() {
  const answer = await act(find(".tokens"), { action: "tokens", search: find(".token-search input").value });
  if (!answer) return;
  text(".token-count", answer.count > answer.tokens.length
    ? `the newest ${answer.tokens.length} of ${answer.count.toLocaleString("en")}` : answer.count);
  list(".tokens", answer.tokens, tokenRow);
}

function tokenRow({ id, account, access, spaces, create, expires, isExpired, used, note }) {
  const right = [access, spaces.join(", ") || "as a member"].join(" ");
  const revoke = sureButton("Revoke", async () => {
    await act(revoke, { action: "revokeToken", id });
    await showTokens();
    refresh();
  });
  const row = element("tr", { className: isExpired ? "expired" : "" }, cell(id, "id"), cell(account), cell(right),
    cell(expires ? time(Date.parse(expires)) : "–", "time"), cell(used ? time(Date.parse(used)) : "–", "time"),
    element("td", { className: "number" }, revoke));
  if (create.length) row.children[2].append(element("small", { textContent: `may create ${create.join(", ")}` }));
  if (note) row.children[1].append(element("small", { textContent: note }));
  return row;
}

whenSent(".make-token", async ({ account, access, spaces, create, expires, note }, form) => {
  const words = names => names.replace(/\s+/g, "");
  const made = await act(form, {
    action: "createToken", account, access, spaces: words(spaces), create: words(create),
    expires: expires || null, note: note.trim() || null,
  });
  if (!made) return;
  form.reset();
  find(".secret").textContent = made.token;
  find(".made").hidden = false;
  await showTokens();
});

function hideSecret() {
  find(".secret").textContent = "";
  find(".made").hidden = true;
}

find(".hide-secret").addEventListener("click", hideSecret);
find(".token-search input").addEventListener("input", showTokens);

// MARK: Events

find(".search input").addEventListener("input", refresh);
document.addEventListener("visibilitychange", () => { if (!document.hidden && find(".token").hidden) refresh(); });
window.addEventListener("hashchange", () => choose(named()));
refresh();
