"""Drives the page of tandem serve --inspect in headless Chromium, as an operator would.

usage: test-inspector.py TANDEM SCREENSHOTS
"""
import http.server
import json
import pathlib
import shutil
import sqlite3
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
folder = pathlib.Path(tempfile.mkdtemp(prefix="tandem-inspector-test-"))


def until(what, condition):
    """Waits until the condition returns something that is true."""
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            page.screenshot(path=SCREENSHOTS / "failure.png", full_page=True)
            raise AssertionError(f"{LIMIT} s have passed, but not: {what}")
        page.wait_for_timeout(50)


def tandem(*arguments, statuses=(0,)):
    result = subprocess.run([TANDEM, *arguments], cwd=folder, capture_output=True, text=True)
    assert result.returncode in statuses, f"tandem {' '.join(arguments)}: {result.returncode} {result.stderr}"
    return result.stdout


def token(account, space, *rights):
    return tandem("token", "create", "--tokens", "tokens", "--account", account, "--space", space, *rights).strip()


def serve(port):
    server = subprocess.Popen(
        [TANDEM, "serve", "--data", "spaces", "--tokens", "tokens", "--listen", f"127.0.0.1:{port}", "--json", "--inspect"],
        cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True)
    line = server.stdout.readline()
    assert line, "the server did not start"
    return server, json.loads(line)["url"]


def edit(database, sql):
    with sqlite3.connect(folder / database) as connection:
        connection.execute(sql)


def make_replica(database, space, account):
    (folder / f"{account}.token").write_text(token(account, space, "--write"))
    edit(database, "CREATE TABLE note (id TEXT NOT NULL PRIMARY KEY, title TEXT NOT NULL)")
    tandem("attach", database, "--server", url, "--space", space, "--token-file", f"{account}.token", "--table", "note")
    tandem("sync", database)


def cells(selector):
    """The texts of the cells of a table, row by row."""
    return page.evaluate(
        "selector => [...document.querySelectorAll(`${selector} tr`)].map(row => [...row.cells].map(cell => cell.textContent))",
        selector)


def text(selector):
    return page.locator(selector).text_content()


def enter(secret):
    page.locator("[name=token]").fill(secret)
    page.locator(".token .main").click()


def check_token():
    """Without a token that permits to inspect, the page shows nothing."""
    page.locator(".token").wait_for()
    assert not page.locator("main").is_visible()
    for secret, part in [("nonsense", "missing or unknown"), ((folder / "ann.token").read_text(), "does not permit to inspect")]:
        enter(secret)
        until(f"a refusal: {part}", lambda: part in text(".token .problem"))
        assert not page.locator("main").is_visible()
    enter(of_notes)
    until("the space", lambda: page.locator(".space").is_visible())
    assert page.locator(".spaces li").all_text_contents() == ["notes2"], "the token of one space sees that space only"


def check_space():
    commits = [json.loads(line) for line in tandem("log", "--space", "notes", "--data", "spaces", "--json").splitlines()]
    assert text(".revision") == "2"
    assert [row[0] for row in cells(".commits")] == [str(commit["version"]) for commit in commits]
    assert [row[2] for row in cells(".commits")] == ["ann", "ann"]
    assert [[row[1], row[2][:8], row[4]] for row in cells(".replicas")] == [["ann", "accepted", "2"]]
    assert text(".tables") == "note"
    assert page.locator(".overruled + *").count() == 0 and cells(".overruled") == []


def check_following():
    """The page follows by itself. A conflict is shown by the key of its record, without its fields."""
    page.evaluate("() => { window.first = document.querySelector('.commits tr'); }")
    edit("b.db", "UPDATE note SET title = 'Bob wins'")
    tandem("sync", "b.db", statuses=(0, 1))
    tandem("conflicts", "b.db", "resolve", "1", "--take", "local")
    tandem("sync", "b.db")
    until("the commits of the merge and of the decision", lambda: text(".revision") == "4")
    until("both replicas", lambda: [row[1] for row in cells(".replicas")] == ["bob", "ann"])
    until("the conflict", lambda: [row[0] for row in cells(".overruled")] == ['note "n1"'])
    assert "Ann wins" not in page.content() and "Bob wins" not in page.content()
    until("the metrics", lambda: "Commits accepted4" in page.locator(".metrics").text_content())


def check_search():
    page.locator(".leave").click()
    page.locator(".token").wait_for()
    enter(of_all)
    until("both spaces", lambda: page.locator(".spaces li").all_text_contents() == ["notes4", "photos0"])
    page.locator(".search input").fill("pho")
    until("the found space", lambda: page.locator(".spaces li").all_text_contents() == ["photos0"])
    page.locator(".spaces button").click()
    until("the chosen space", lambda: text("#space-title") == "photos")
    assert page.url.endswith("#photos")
    page.locator(".search input").fill("")
    until("all spaces", lambda: page.locator(".spaces li").count() == 2)
    page.locator("[data-name=notes]").click()
    until("the first space", lambda: text("#space-title") == "notes")


def check_failure():
    """A server that is away is noticed, and so is its return. A revoked token ends the view."""
    global server
    server.terminate()
    assert server.wait(LIMIT) == 0
    until("no answer", lambda: text(".age").startswith("No answer since"))
    server, _ = serve(url.rsplit(":", 1)[1])
    until("the return", lambda: text(".age").startswith("Read only"))
    tandem("token", "revoke", "--account", "all", "--tokens", "tokens")
    page.locator(".token").wait_for()
    assert not page.locator("main").is_visible()


def log_lines():
    return (folder / "log").read_text()


def check_administration():
    """An administrator makes and revokes tokens, changes members, forgets, renames and deletes; the log has each action."""
    assert not page.locator(".administration").first.is_visible(), "who inspects sees no controls"
    page.locator(".leave").click()
    page.locator(".token").wait_for()
    enter(of_admin)
    until("the controls", lambda: page.locator(".tokens-card").is_visible() and page.locator(".members-card").is_visible())
    until("the tokens", lambda: "admin" in [row[1] for row in cells(".tokens")])
    assert text(".age").startswith("Refreshed")

    form = page.locator(".make-token")
    form.locator("[name=account]").fill("dora")
    form.locator("[name=create]").fill("dora-*")
    form.locator("[name=note]").fill("Dora's phone")
    form.locator("[name=expires]").fill("2099-01-31")
    form.locator("button").click()
    until("the secret", lambda: text(".secret").startswith("tandem_"))
    secret = text(".secret")
    assert page.locator(".made").is_visible()
    assert spaces_of(secret) == []
    page.screenshot(path=SCREENSHOTS / "inspector-administration.png", full_page=True)
    page.locator(".hide-secret").click()
    assert secret not in page.content() and not page.locator(".made").is_visible()
    until("the token of dora", lambda: ["doraDora's phone", "read as a membermay create dora-*"]
          in [row[1:3] for row in cells(".tokens")])

    members = page.locator(".add-member")
    members.locator("[name=account]").fill("dora")
    members.locator("[name=role]").select_option("writer")
    members.locator("button").click()
    until("the member", lambda: [row[0] for row in cells(".members")] == ["dora"])
    assert spaces_of(secret) == [{"name": "notes", "access": "write"}]
    page.locator(".members select").select_option("reader")
    until("the role", lambda: tandem("member", "notes", "list", "--data", "spaces") == "dora reader\n")
    page.locator(".members button").click()
    assert text(".members button") == "Remove: sure?" and len(cells(".members")) == 1
    page.locator(".members button").click()
    until("no member", lambda: cells(".members") == [])
    assert spaces_of(secret) == []

    page.locator(".token-search input").fill("dor")
    until("one token", lambda: [row[1][:4] for row in cells(".tokens")] == ["dora"])
    page.locator(".tokens button").click()
    page.locator(".tokens button").click()
    until("no token", lambda: cells(".tokens") == [])
    assert spaces_of(secret) == 401
    page.locator(".token-search input").fill("")

    page.locator(".forget [name=keep]").fill("1")
    page.locator(".forget button").click()
    until("a shorter history", lambda: "since version" in text(".horizon"))
    for wrong, problem in [("photo", True), ("notes", False)]:
        page.locator(".rename [name=name]").fill("todo")
        page.locator(".rename [name=confirm]").fill(wrong)
        page.locator(".rename button").click()
        until("the answer", lambda: page.locator(".space-card .problem").is_visible() == problem
              and page.locator(".rename button").is_enabled())
    until("the new name", lambda: text("#space-title") == "todo")
    refused = subprocess.run([TANDEM, "sync", "a.db"], cwd=folder, capture_output=True, text=True)
    assert refused.returncode == 1 and "is called todo now" in refused.stderr, refused.stderr
    page.locator(".delete [name=confirm]").fill("tod")
    page.locator(".delete button").click()
    until("a refusal", lambda: page.locator(".space-card .problem").is_visible())
    assert (folder / "spaces/todo.space").exists()
    page.locator(".delete [name=confirm]").fill("todo")
    page.locator(".delete button").click()
    until("one space less", lambda: page.locator(".spaces li").all_text_contents() == ["photos0"])
    assert not (folder / "spaces/todo.space").exists()
    lines = [line for line in log_lines().splitlines() if "account=admin" in line]
    for part in ["created the access token", "made dora writer", "made dora reader", "removed the member dora",
                 "revoked the access token", "forgot the commits", "renamed the space to todo", "deleted the space"]:
        assert sum(part in line for line in lines) == 1, part
    assert secret not in log_lines() and of_admin not in log_lines() and "phone" not in log_lines()


def spaces_of(secret):
    """The list of the spaces of a token, or the status of a refusal."""
    request = urllib.request.Request(f"{url}/v1/spaces", headers={"Authorization": f"Bearer {secret}"})
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)["spaces"]
    except urllib.error.HTTPError as error:
        return error.code


def check_forged(browser):
    """A page of another server, in the same browser, can do nothing with the page's token."""
    script = """
      const action = JSON.stringify({ action: "delete", space: "photos", confirm: "photos" });
      const send = async (address, options) => {
        try { return (await fetch(address, { method: "POST", credentials: "include", body: action, ...options })).type; }
        catch (error) { return "blocked"; }
      };
      Promise.all([
        send("URL/inspect/action", { headers: { "Content-Type": "application/json" } }),
        send("URL/inspect/action", { mode: "no-cors" }),
        send("URL/inspect/action", { headers: { Authorization: "Bearer x", "Content-Type": "application/json" } }),
      ]).then(results => { document.title = results.join(" "); });
    """.replace("URL", url)

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            frame = f'<iframe src="{url}/inspect"></iframe>'
            self.wfile.write(f"<!doctype html><title>wait</title>{frame}<script>{script}</script>".encode())

        def log_message(self, *_):
            pass

    other = http.server.HTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    view = browser.new_page()
    view.set_default_timeout(LIMIT * 1000)
    view.goto(f"http://127.0.0.1:{other.server_port}/")
    until("the forged requests", lambda: view.title() not in ("wait", ""))
    assert view.title() == "blocked opaque blocked", view.title()
    assert (folder / "spaces/photos.space").exists()
    # The frame has no document of the page.
    assert all("Access token" not in (frame.content() or "") for frame in view.frames[1:])
    view.close()
    other.shutdown()


def screenshot(browser):
    for name, width, height in [("desktop", 1280, 900), ("phone", 390, 844)]:
        for scheme in ("light", "dark"):
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
            view = context.new_page()
            view.set_default_timeout(LIMIT * 1000)
            watch(view)
            view.goto(f"{url}/inspect")
            view.locator("[name=token]").fill(of_all)
            view.locator(".token .main").click()
            view.locator(".space").wait_for()
            view.screenshot(path=SCREENSHOTS / f"inspector-{name}-{scheme}.png", full_page=True)
            assert not view.evaluate("() => document.documentElement.scrollWidth > innerWidth"), f"{name}: too wide"
            context.close()


def watch(view):
    """Notes errors, but for those of the network, which are part of the test."""
    view.on("pageerror", lambda error: errors.append(str(error)))
    view.on("console", lambda message: errors.append(message.text)
            if message.type in ("error", "warning") and "Failed to load resource" not in message.text else None)


start = time.monotonic()
errors = []
SCREENSHOTS.mkdir(parents=True, exist_ok=True)
log = (folder / "log").open("a")
of_admin = token("admin", "*", "--admin")
of_notes, of_all = token("notes", "notes", "--inspect"), token("all", "*", "--inspect")
server, url = serve(0)
try:
    make_replica("a.db", "notes", "ann")
    make_replica("b.db", "notes", "bob")
    make_replica("c.db", "photos", "cleo")
    edit("a.db", "INSERT INTO note VALUES ('n1', 'A plan')")
    tandem("sync", "a.db")
    tandem("sync", "b.db")
    edit("a.db", "UPDATE note SET title = 'Ann wins'")
    tandem("sync", "a.db")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.set_default_timeout(LIMIT * 1000)
        watch(page)
        page.goto(f"{url}/inspect")
        for check in (check_token, check_space, check_following, check_search):
            check()
        screenshot(browser)
        check_administration()
        check_forged(browser)
        page.locator(".leave").click()
        page.locator(".token").wait_for()
        enter(of_all)
        until("the view of who inspects", lambda: text(".age").startswith("Read only"))
        check_failure()
        assert not errors, errors
        browser.close()
    print(f"{time.monotonic() - start:5.1f} s  the page of tandem serve --inspect")
finally:
    server.terminate()
    server.wait(LIMIT)
    shutil.rmtree(folder, ignore_errors=True)
