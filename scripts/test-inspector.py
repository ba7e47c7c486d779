"""Drives the page of tandem serve --inspect in headless Chromium, as an operator would.

usage: test-inspector.py TANDEM SCREENSHOTS
"""
import json
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

from playwright.sync_api import sync_playwright

TANDEM, SCREENSHOTS = sys.argv[1], pathlib.Path(sys.argv[2])
LIMIT = 30  # seconds for a condition
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
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
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


def screenshot(browser):
    for name, width, height in [("desktop", 1280, 900), ("phone", 390, 844)]:
        for scheme in ("light", "dark"):
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
            view = context.new_page()
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
        watch(page)
        page.goto(f"{url}/inspect")
        for check in (check_token, check_space, check_following, check_search):
            check()
        screenshot(browser)
        check_failure()
        assert not errors, errors
        browser.close()
    print(f"{time.monotonic() - start:5.1f} s  the page of tandem serve --inspect")
finally:
    server.terminate()
    server.wait(LIMIT)
    shutil.rmtree(folder, ignore_errors=True)
