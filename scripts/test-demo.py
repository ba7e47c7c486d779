"""Drives the demo's page in headless Chromium, as a person would, and compares it with the databases.

usage: test-demo.py TANDEM SCREENSHOTS
"""
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

from playwright.sync_api import sync_playwright

TANDEM, SCREENSHOTS = sys.argv[1], pathlib.Path(sys.argv[2])
LIMIT = 600  # seconds for a condition
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
folder = pathlib.Path(tempfile.mkdtemp(prefix="tandem-demo-test-"))


def until(what, condition, found=()):
    """Waits until the condition returns something that is true. What is found last says why it has not."""
    end = time.monotonic() + LIMIT
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            page.screenshot(path=SCREENSHOTS / "failure.png", full_page=True)
            raise AssertionError(f"{LIMIT} s have passed, but not: {what} {[*found][-1:] or ''}")
        page.wait_for_timeout(20)  # lets the page run


def step(text):
    print(f"{time.monotonic() - start:5.1f} s  {text}", flush=True)


def rows(phone, sql, *values):
    with sqlite3.connect(f"file:{folder}/phone-{phone}.db?mode=ro", uri=True, timeout=LIMIT) as database:
        return database.execute(sql, values).fetchall()


PLACES = "SELECT zone, name, latitude, longitude, note, favourite FROM place ORDER BY zone"
PLAYERS = "SELECT id, name, score FROM player ORDER BY score DESC, id"

# What the page shows, compared with the rows of the file: pin by pin, row by row. Returns the first difference.
COMPARE = """async ([phone, places, players]) => {
  const { projected } = await import("/projection.js");
  const element = document.getElementById(phone);
  const pins = new Map([...element.querySelectorAll(".pins [data-zone]")].map(pin => [pin.dataset.zone, pin]));
  if (pins.size !== places.length) return `${pins.size} pins, ${places.length} places`;
  for (const [zone, name, latitude, longitude, , favourite] of places) {
    const pin = pins.get(zone);
    if (!pin) return `no pin for ${zone}`;
    const [x, y] = projected(latitude, longitude).map(n => n.toFixed(2));
    if (pin.getAttribute("cx") !== x || pin.getAttribute("cy") !== y) return `${zone}: at another place`;
    if (pin.classList.contains("favourite") !== !!favourite) return `${zone}: favourite`;
    if (!pin.getAttribute("aria-label").startsWith(name)) return `${zone}: name`;
  }
  const list = element.querySelector(".rows");
  if (list.querySelector("[aria-posinset]")?.getAttribute("aria-setsize") !== String(players.length)) return "size of the list";
  const shown = new Map([...list.querySelectorAll("[data-id]")].map(row => [row.getAttribute("aria-posinset"), row]));
  if (shown.size !== list.querySelectorAll("[data-id]").length) return "two rows have one place";
  const visible = Math.ceil(list.clientHeight / 40);
  for (const [i, [id, name, score]] of players.entries()) {
    const row = shown.get(String(i + 1));
    if (!row) { if (i < visible && list.scrollTop === 0) return `no row ${i + 1}`; else continue; }
    if (row.dataset.id !== id || row.querySelector(".name").value !== name) return `row ${i + 1}: ${row.dataset.id}`;
    if (row.querySelector(".score").textContent !== String(score)) return `score of row ${i + 1}`;
    if (row.style.top !== `${i * 40}px`) return `place of row ${i + 1}`;
  }
  if (document.getAnimations().some(a => a.playState === "running")) return "animations run";
  const order = [...list.querySelectorAll("[role=listitem]")].map(row => +row.getAttribute("aria-posinset"));
  if (order.some((place, i) => i && order[i - 1] > place)) return "order for screen readers";
  return null;
}"""


def difference(phone, players=PLAYERS):
    return page.evaluate(COMPARE, [phone, rows(phone, PLACES), rows(phone, players)])


def state(phone):
    return page.evaluate("name => demo.phones.get(name)?.status", phone)


def is_settled():
    return page.evaluate("() => document.getElementById('server').classList.contains('equal')")


def until_equal(what):
    until(f"{what}: both phones in step", is_settled)
    until(f"{what}: equal files", lambda: all(rows("a", q) == rows("b", q) for q in (PLACES, PLAYERS)) and is_settled())
    for phone in "ab":
        last = []
        until(
            f"{what}: page of phone {phone} equals its file",
            lambda: not last.append(difference(phone)) and last[-1] is None,
            last,
        )


def press(phone, selector):
    page.locator(f"#{phone} {selector}").click()


def rename(phone, player, name):
    field = page.locator(f"#{phone} [data-id='{player}'] .name")
    field.fill(name)
    field.press("Enter")


def switch(phone, online):
    page.locator(f"#{phone} .online").set_checked(online)
    until(f"phone {phone} online: {online}", lambda: state(phone)["isOnline"] == online)


def score(phone, player):
    return rows(phone, "SELECT score FROM player WHERE id = ?", player)[0][0]


def check_protection():
    """Other pages cannot use the demo."""
    addresses = [url] + [row[0] for row in sqlite3.connect(folder / "server.db").execute("SELECT address FROM phone")]
    for address in addresses:
        for path, fields in [
            ("/feed/drift", {"Origin": "http://attacker.example"}),
            ("/players/shuffle", {"Origin": "http://attacker.example"}),
            ("/players/shuffle", {}),
            ("/players/shuffle", {"Origin": url, "Host": "attacker.example"}),
            ("/players/shuffle", {"Origin": "null"}),
        ]:
            request = urllib.request.Request(address + path, data=b"{}", headers=fields, method="POST")
            try:
                urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=LIMIT)
                raise AssertionError(f"{address}{path} with {fields} is not refused")
            except urllib.error.HTTPError as error:
                assert error.code == 403, error
        request = urllib.request.Request(address + "/events", headers={"Origin": "http://attacker.example"})
        try:
            urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=LIMIT)
            raise AssertionError(f"{address}/events is readable by other pages")
        except urllib.error.HTTPError as error:
            assert error.code == 403, error


def check_edits_on_both():
    rename("a", "player-10", "Ada Lovelace")
    press("b", "[data-id='player-11'] .more")
    page.locator("#a .note input").fill("The eternal city")
    page.locator("#a .note input").press("Enter")
    page.locator("#b .star input").check()
    until_equal("edits on both")
    assert rows("b", "SELECT name FROM player WHERE id = 'player-10'") == [("Ada Lovelace",)]
    assert rows("a", "SELECT note, favourite FROM place WHERE zone = 'Europe/Rome'") == [("The eternal city", 1)]
    until("both models of both phones", lambda: all(
        page.locator(f"#{phone} .badge span").text_content() == "The eternal city"
        and page.locator(f"#{phone} .headline input").is_checked() for phone in "ab"))


def check_keyboard():
    selected = "#a .pins [aria-pressed='true']"
    page.locator(selected).focus()
    page.keyboard.press("ArrowRight")
    until("the next place", lambda: page.locator(selected).get_attribute("data-zone") != "Europe/Rome")
    name = page.locator(selected).get_attribute("aria-label")
    until("its panel", lambda: page.locator("#a .headline b").text_content() == name)
    assert page.evaluate("() => document.activeElement === demo.phones.get('a').map.pins.get("
                         "demo.phones.get('a').map.selection)")
    page.evaluate("() => demo.phones.get('a').map.select('Europe/Rome')")


def check_order_and_filter():
    press("a", ".by-name")
    until("order by name", lambda: difference("a", "SELECT id, name, score FROM player ORDER BY name, id") is None)
    press("a", ".by-score")
    page.locator("#a .favourites").check()
    until("favourites only", lambda: page.locator("#a .pins [data-zone]").count() == 1)
    page.locator("#a .favourites").uncheck()
    until_equal("order and filter")


def check_feed():
    """The pin moves; it stays the same element, and selected."""
    page.evaluate("() => { window.pin = demo.phones.get('b').map.pins.get('Europe/Rome'); }")
    page.locator(".feed [name=latitude]").fill("45.5")
    page.locator(".feed [name=longitude]").fill("20")
    page.locator(".feed .main").click()
    until("the place has moved", lambda: rows("b", "SELECT latitude FROM place WHERE zone = 'Europe/Rome'") == [(45.5,)])
    until_equal("feed")
    assert page.evaluate("() => pin === demo.phones.get('b').map.pins.get('Europe/Rome') && pin.ariaPressed === 'true'")
    assert page.evaluate("() => pin.isConnected")
    page.locator(".feed [name=zone]").select_option("Europe/Malta")
    page.locator(".feed [name=remove]").click()
    until("the place is gone", lambda: not rows("a", "SELECT 1 FROM place WHERE zone = 'Europe/Malta'"))
    page.locator(".feed [name=drift]").click()
    page.locator(".feed [name=reset]").click()
    until("the place is back", lambda: rows("a", "SELECT 1 FROM place WHERE zone = 'Europe/Malta'"))
    until_equal("feed at the start")


def check_conflict():
    for phone in "ab":
        switch(phone, False)
    before = score("a", "player-12")
    for phone, name in [("a", "Barbara of A"), ("b", "Barbara of B")]:
        rename(phone, "player-12", name)
        press(phone, "[data-id='player-12'] .more")
        until(f"edits of {phone} wait", lambda: state(phone)["pending"] > 0)
    press("b", "[data-id='player-13'] .more")
    assert rows("a", PLAYERS) != rows("b", PLAYERS)
    switch("a", True)
    until("phone A has sent", lambda: state("a")["pending"] == 0)
    switch("b", True)
    until("the conflict", lambda: page.locator("#b .conflicts .open").count() == 1)
    until_equal("conflict")
    page.evaluate("() => scrollTo(0, 0)")
    link = page.locator("#b .status a")
    assert link.text_content() == "1 open conflict", link.text_content()
    link.click()
    until("the link shows the conflict", lambda: page.evaluate(VISIBLE, "#b .conflicts .open"))
    card = page.locator("#b .conflicts .open")
    texts = [card.locator(f".{version} span").text_content() for version in ("base", "local", "remote")]
    assert texts == ["Barbara", "Barbara of B", "Barbara of A"], texts
    assert score("a", "player-12") == before + 20, "no count is lost"
    assert rows("b", "SELECT name FROM player WHERE id = 'player-12'") == [("Barbara of A",)]
    page.evaluate("() => scrollTo(0, 0)")
    page.screenshot(path=SCREENSHOTS / "conflict.png", full_page=True)
    number = card.get_attribute("data-id")
    card.locator(".local").focus()
    page.keyboard.press("Enter")
    until("another choice", lambda: rows("a", "SELECT name FROM player WHERE id = 'player-12'") == [("Barbara of B",)])
    until_equal("conflict resolved")
    assert page.locator("#b .conflicts .open").count() == 0
    focus = page.evaluate("() => [document.activeElement.closest('#b li')?.dataset.id, document.activeElement.className]")
    assert focus == [number, "local"], f"the focus is at {focus}"
    assert page.locator("#b .status a").is_hidden(), "a link without a conflict"


def check_announcements():
    """A screen reader says what lasts, not each change."""
    count = page.locator("[aria-live], [role=status], [role=alert], [role=log], output").count()
    assert count == 2, f"{count} live regions"
    last = None
    while last != (last := page.locator(".announcements").first.inner_text()):
        page.wait_for_timeout(1500)  # what was to be said is said
    page.evaluate("""() => {
      window.said = [];
      new MutationObserver(changes => said.push(...changes.flatMap(change => [...change.addedNodes]).map(line => line.textContent)))
        .observe(document.querySelector(".announcements"), { childList: true });
    }""")
    before = rows("b", PLAYERS)
    press("a", ".shuffle")
    until("the shuffle arrives", lambda: rows("b", PLAYERS) != before)
    until_equal("shuffle")
    page.wait_for_timeout(1500)
    said = page.evaluate("() => said")
    assert len(said) <= 2, said
    switch("a", False)
    until("it says that a phone is offline", lambda: "Phone A: Offline" in page.evaluate("() => said"))
    switch("a", True)
    until_equal("announcements")


def authors():
    return page.eval_on_selector_all("#server .commits li", "items => items.map(item => item.children[1].textContent)")


def reload():
    page.reload()
    until("the page has both phones again", lambda: page.evaluate("() => demo.phones.size === 2"))
    until("both phones have answered", lambda: all((state(phone) or {}).get("state") for phone in "ab"))


def check_reload():
    """The page says nothing that it does not know."""
    press("b", "[data-id='player-14'] .more")
    until_equal("a commit of phone B")
    before = authors()
    assert before[0] == "Phone B" and "Phone A" in before and "Feed" in before, before
    switch("a", False)
    reload()
    until("the authors after a reload", lambda: authors() == before)
    text = page.locator("#a .status").text_content()
    assert "Offline" in text and "synced" not in text, text
    switch("a", True)
    until_equal("reload")


def check_descriptions():
    """A conflict says how it was resolved, and by whom."""
    for phone in "ab":
        switch(phone, False)
    for phone in "ab":
        rename(phone, "player-15", f"Hedy of {phone}")
        press(phone, "[data-id='player-16'] .more")
        until(f"edits of {phone} wait", lambda: state(phone)["pending"] > 1)
    for phone in "ab":
        switch(phone, True)
        until(f"phone {phone} has sent", lambda: state(phone)["pending"] == 0)
    card = page.locator("#b .conflicts .open")
    until("the open conflict", lambda: card.count() == 1)
    number = card.get_attribute("data-id")
    card.locator(".base").click()
    resolved = page.locator(f"#b .conflicts [data-id='{number}']")
    until("the chosen version", lambda: resolved.locator("p").text_content()
          == "The version before both was chosen. Now: Edsger. A version above replaces that.")
    counter = page.locator("#b .conflicts .resolved", has_text="Score of").first
    now = score("b", "player-16")
    assert f"The policy merged both. Now: {now}. A version above replaces that." in counter.text_content(), \
        counter.text_content()
    assert counter.locator(".local").get_attribute("aria-label").startswith("Replace by This phone"), "label"
    until_equal("descriptions")


def check_silence():
    """A process that exists and does not run is no answer."""
    verdict = page.locator("#server .verdict")
    for pid, is_shown in [
        (demo.pid, lambda: verdict.text_content().startswith("No answer since ")),
        (int(page.locator("#b").get_attribute("data-pid")), lambda: (state("b") or {}).get("state") == "lost"),
    ]:
        os.kill(pid, signal.SIGSTOP)
        try:
            until("a stopped process is noticed", is_shown)
            assert not is_settled(), "the page is green beside a stopped process"
        finally:
            os.kill(pid, signal.SIGCONT)
        until_equal("silence")


def check_bomb():
    for phone in "ab":
        press(phone, ".bomb")
    until("both bombs", lambda: all(len(rows(p, "SELECT 1 FROM player WHERE length(id) = 16")) > 9 for p in "ab"))
    until_equal("bomb")
    for button in ("shuffle", "delete", "add"):
        before = rows("a", PLAYERS)
        press("a", f".{button}")
        until(f"effect of the button {button}", lambda: rows("a", PLAYERS) != before)
    until_equal("buttons")


def check_kill():
    pid = int(page.locator("#a").get_attribute("data-pid"))
    press("a", ".bomb")
    press("a", ".kill")
    until("phone A is killed", lambda: page.locator("#a .dead").is_visible())
    try:
        os.kill(pid, 0)
        raise AssertionError("the process of the killed phone still runs")
    except ProcessLookupError:
        pass
    page.screenshot(path=SCREENSHOTS / "killed.png")
    press("b", ".add")
    press("a", ".start")
    until("a new process", lambda: page.locator("#a").get_attribute("data-pid") not in ("", str(pid)))
    until_equal("recovery")
    assert rows("a", "PRAGMA integrity_check") == [("ok",)]


def check_terminal():
    """Without a browser, the demo says how to change one phone and look at the other one."""
    change, look = (lines[-2].removeprefix("tandem:"), lines[-1].removeprefix("tandem:"))
    player, score = rows("a", "SELECT name, score + 100 FROM player ORDER BY score DESC, id LIMIT 1")[0]
    subprocess.run(change, shell=True, check=True)
    until("the other phone shows the change", lambda: f"{score}|{player}\n" in subprocess.run(
        look, shell=True, check=True, capture_output=True, text=True).stdout)
    until_equal("terminal")


def check_folder():
    """A folder that cannot be used is refused, with the remedy."""
    (folder / "file").touch()
    for path, part in [(folder, "is in use by another demo"), ("/proc/none", "cannot be created"), (folder / "file", "--data")]:
        result = subprocess.run([TANDEM, "demo", "--port", "0", "--data", path], capture_output=True, text=True, timeout=LIMIT)
        assert result.returncode == 1 and part in result.stderr and "--data" in result.stderr, result.stderr


def check_sqlite():
    total = sum(row[2] for row in rows("b", PLAYERS))
    count = len(rows("b", PLAYERS))
    subprocess.run(page.locator("#b code").text_content(), shell=True, check=True)
    until("the page follows sqlite3", lambda: sum(row[2] for row in rows("a", PLAYERS)) == total + 100 * count)
    until_equal("sqlite3")


# From a click on phone A until the row of phone B changes and its animation starts.
LATENCY = """() => new Promise(resolve => {
  const row = document.querySelector("#b .rows [aria-posinset='1']");
  const button = document.querySelector(`#a .rows [data-id='${row.dataset.id}'] .more`);
  const begin = performance.now();
  const observer = new MutationObserver(() => {
    observer.disconnect();
    requestAnimationFrame(() => resolve(performance.now() - begin));
  });
  observer.observe(row.querySelector(".score"), { childList: true });
  button.click();
})"""


def measure_latency():
    times = sorted(page.evaluate(LATENCY) for _ in range(20))
    print(f"         click on one phone to the animation on the other: p50 {statistics.median(times):.0f} ms, "
          f"worst {times[-1]:.0f} ms (20 clicks)")


COUNT_FRAMES = """() => {
  window.frameCount = 0;
  const count = () => { frameCount += 1; requestAnimationFrame(count); };
  requestAnimationFrame(count);
  window.mutationCount = 0;
  new MutationObserver(mutations => { mutationCount += mutations.length; }).observe(
    document.getElementById("a"), { subtree: true, childList: true, attributes: true, characterData: true });
}"""
# The most nodes of the page that may change for one changed row of a table of 10,000. Unlike times, it does not
# depend on other programs. A page that rendered its pins or rows anew would change thousands.
MAX_MUTATIONS = 20


def figures(seconds):
    """The frames per second, and the milliseconds of CPU time per second of the page: in all, and of its scripts."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def numbers():
        metrics = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
        return page.evaluate("() => frameCount"), metrics["TaskDuration"] * 1000, metrics["ScriptDuration"] * 1000

    before, begin = numbers(), time.monotonic()
    page.wait_for_timeout(seconds * 1000)
    elapsed = time.monotonic() - begin
    return [(new - old) / elapsed for old, new in zip(before, numbers())]


def change_rows(stop, counts):
    """Changes 50 rows of each table per second, in 10 commits of another process, which is this one."""
    database = sqlite3.connect(folder / "phone-a.db", timeout=LIMIT, isolation_level=None)
    begin = time.monotonic()
    while not stop.wait(max(0, begin + len(counts) / 10 - time.monotonic())):
        database.execute("BEGIN IMMEDIATE")
        for _ in range(5):
            database.execute("UPDATE player SET score = score + ? WHERE id = ?",
                             (random.randint(-99, 99), f"many-{random.randint(1, 10_000)}"))
            database.execute("UPDATE place SET longitude = ?, favourite = 1 - favourite WHERE zone = ?",
                             (random.randint(-179, 179), f"many-{random.randint(1, 10_000)}"))
        database.execute("COMMIT")
        counts.append(10)
    database.close()


def measure_frames():
    """10,000 pins and rows, of which 100 change per second."""
    switch("a", False)
    with sqlite3.connect(folder / "phone-a.db", timeout=LIMIT) as database:
        database.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) "
            "INSERT INTO player SELECT 'many-' || i, 'Player ' || i, i % 1000 FROM n")
        database.execute(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) "
            "INSERT INTO place SELECT 'many-' || i, 'Place ' || i, i % 120 - 60, i * 7 % 360 - 180, '', 0 FROM n")
    until("10,000 rows", lambda: page.evaluate("() => demo.phones.get('a').ranking.rows.length") > 10_000)
    until("10,000 pins", lambda: page.evaluate("() => demo.phones.get('a').map.pins.size") > 10_000)
    until("the page of 10,000 rows equals the file", lambda: difference("a") is None)
    page.evaluate(COUNT_FRAMES)
    at_rest = figures(1)
    stop, counts, mutations = threading.Event(), [], page.evaluate("() => mutationCount")
    thread = threading.Thread(target=change_rows, args=(stop, counts))
    thread.start()
    frames, busy, script = figures(3)
    stop.set()
    thread.join()
    until("the page of 10,000 changing rows equals the file", lambda: difference("a") is None)
    mutations = (page.evaluate("() => mutationCount") - mutations) / sum(counts)
    print(f"         10,000 pins and rows: {at_rest[0]:.0f} frames per second at rest, {frames:.0f} while "
          f"{sum(counts) / 3:.0f} rows per second change;\n         the page then needs {busy / frames:.1f} ms of CPU time per "
          f"frame, {script / frames:.1f} of them in its scripts, the others in style, layout and paint;\n"
          f"         {mutations:.1f} nodes change for a row")
    assert mutations < MAX_MUTATIONS, f"{mutations:.1f} nodes change for a row, more than {MAX_MUTATIONS}"


# True if an element is wholly within the window.
VISIBLE = """selector => {
  const { top, bottom, left, right } = document.querySelector(selector).getBoundingClientRect();
  return bottom > top && top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth;
}"""


def screenshot(browser):
    for name, width, height in [("desktop", 1400, 900), ("phone", 390, 844)]:
        for scheme in ("light", "dark"):
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce")
            view = context.new_page()
            view.set_default_timeout(LIMIT * 1000)
            watch(view)
            view.goto(url)
            for _ in range(LIMIT * 50):
                if view.evaluate("() => document.getElementById('server').classList.contains('equal')"):
                    break
                view.wait_for_timeout(20)
            view.screenshot(path=SCREENSHOTS / f"{name}-{scheme}.png")
            wide = view.evaluate("() => document.documentElement.scrollWidth > innerWidth")
            assert not wide, f"{name}: the page is wider than the screen"
            # What the first line asks for.
            for selector in [".top p", "#a .online", "#a .rows [aria-posinset='3'] .name"]:
                assert view.evaluate(VISIBLE, selector), f"{name}: {selector} is not visible"
            border = view.evaluate("() => getComputedStyle(document.querySelector('.rows .name')).borderTopWidth")
            assert border != "0px", "a name does not look editable"
            context.close()


def watch(view):
    """Notes errors. A killed phone cannot be reached for a moment: such errors of the network are part of the test."""
    view.on("pageerror", lambda error: errors.append(str(error)))
    view.on("console", lambda message: errors.append(message.text)
            if message.type in ("error", "warning") and "net::ERR" not in message.text else None)


start = time.monotonic()
errors = []
SCREENSHOTS.mkdir(parents=True, exist_ok=True)
demo = subprocess.Popen([TANDEM, "demo", "--port", "0", "--data", folder], stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE, text=True)
try:
    url = demo.stdout.readline().strip()
    assert url, f"the demo did not start: {demo.stderr.read()}"
    lines = [demo.stderr.readline().rstrip("\n") for _ in range(4)]
    step(f"{url} has started")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1440, "height": 1000})
        page.set_default_timeout(LIMIT * 1000)
        watch(page)
        page.goto(url)
        until("the page has both phones", lambda: page.evaluate("() => demo.phones.size === 2"))
        until_equal("start")
        step("both phones show their files")
        check_protection()
        step("other pages are refused")
        screenshot(browser)
        step("desktop and phone, light and dark")
        for check, text in [
            (check_edits_on_both, "edits on both phones"), (check_keyboard, "arrow keys"),
            (check_order_and_filter, "order and filter"),
            (check_feed, "the feed"), (check_conflict, "a conflict offline, resolved otherwise"),
            (check_announcements, "announcements"), (check_reload, "a reload"), (check_silence, "processes that stand still"), (check_descriptions, "how conflicts were resolved"),
            (check_sqlite, "a change by sqlite3"), (check_terminal, "the lines for a terminal"),
            (check_folder, "folders that cannot be used"), (check_bomb, "bombs on both"), (check_kill, "kill and recovery"),
        ]:
            check()
            step(text)
        measure_latency()
        measure_frames()
        step("figures")
        assert not errors, errors
        pids = [row[0] for row in sqlite3.connect(folder / "server.db").execute("SELECT pid FROM phone")]
        demo.send_signal(signal.SIGINT)
        assert demo.wait(LIMIT) == 0, "the demo ended with an error"
        verdict = page.locator("#server .verdict")
        until("the end of the demo is shown", lambda: verdict.text_content().startswith("No answer since "))
        assert not is_settled(), "the page is green after the end of the demo"
        until("the phones show it too", lambda: page.locator("[data-state='lost']").count() == 2)
        assert page.locator(".status", has_text="In step").count() == 0
        page.screenshot(path=SCREENSHOTS / "ended.png")
        browser.close()
    for pid in pids:
        try:
            os.kill(pid, 0)
            raise AssertionError("a phone outlives the demo")
        except ProcessLookupError:
            pass
    step("Ctrl-C has ended all processes")
finally:
    demo.kill()
    shutil.rmtree(folder, ignore_errors=True)
