#!/usr/bin/env python3
"""Edits four copies of one schema at the same time, by programs that know nothing of each other, while `tandem serve`
and `tandem sync --watch` are killed. The tables have rules that span rows. At the end all copies must have equal rows.
usage: scripts/soak-rules.py TANDEM [SECONDS [SEED]]    600 s, and a random seed; status 1 if copies differ"""

import os, random, signal, socket, sqlite3, subprocess, sys, tempfile, threading, time

SCHEMA = """
CREATE TABLE person (id TEXT PRIMARY KEY NOT NULL, mail TEXT COLLATE NOCASE UNIQUE, name TEXT, age INTEGER CHECK (age >= 0));
CREATE TABLE slot (id TEXT PRIMARY KEY NOT NULL, room INTEGER, start INTEGER, lo INTEGER NOT NULL, hi INTEGER NOT NULL,
  active INTEGER NOT NULL DEFAULT 1, UNIQUE (room, start), CHECK (lo <= hi));
CREATE UNIQUE INDEX slot_active ON slot (room) WHERE active = 1 AND lo > 90;
CREATE TABLE category (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL UNIQUE);
CREATE TABLE expense (id TEXT PRIMARY KEY NOT NULL, category TEXT REFERENCES category (name) ON UPDATE CASCADE, amount REAL);
CREATE TABLE folder (id TEXT PRIMARY KEY NOT NULL, parent TEXT REFERENCES folder (id) ON DELETE CASCADE, title TEXT);
CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL, folder TEXT NOT NULL REFERENCES folder (id) ON DELETE CASCADE,
  author TEXT REFERENCES person (id) ON DELETE SET NULL, body TEXT, edits INTEGER NOT NULL DEFAULT 0);
CREATE TABLE invoice (id INTEGER PRIMARY KEY AUTOINCREMENT, number TEXT UNIQUE, total REAL NOT NULL DEFAULT 0);
CREATE TABLE line (id TEXT PRIMARY KEY NOT NULL, invoice INTEGER NOT NULL REFERENCES invoice (id) ON DELETE CASCADE, price REAL NOT NULL);
CREATE UNIQUE INDEX person_name ON person (name) WHERE age > 80;
CREATE TRIGGER line_added AFTER INSERT ON line BEGIN UPDATE invoice SET total = total + new.price WHERE id = new.invoice; END;
CREATE TRIGGER note_edited AFTER UPDATE OF body ON note BEGIN UPDATE note SET edits = old.edits + 1 WHERE id = new.id; END;
"""
TABLES = ["person", "slot", "category", "expense", "folder", "note", "invoice", "line"]


def writer(path, seed, stop, counts):
    rng = random.Random(seed)
    serial = 0

    def fresh():
        nonlocal serial
        serial += 1
        return f"{seed}-{serial}"

    def some(db, table):
        row = db.execute(f"SELECT id FROM {table} ORDER BY random() LIMIT 1").fetchone()
        return row[0] if row else None

    def edit(db):
        kind = rng.randrange(22)
        if kind < 3:
            db.execute(
                "INSERT INTO person VALUES (?,?,?,?)",
                (fresh(), rng.choice("abcdefABCDEF") + "@x", rng.choice("mno"), rng.randrange(90)),
            )
        elif kind == 3:
            db.execute(
                "UPDATE person SET mail = ? WHERE id = ?", (rng.choice("abcdefghABC") + "@x", some(db, "person"))
            )
        elif kind == 4:
            db.execute("DELETE FROM person WHERE id = ?", (some(db, "person"),))
        elif kind == 5:
            lo = rng.randrange(100)
            db.execute(
                "INSERT INTO slot VALUES (?,?,?,?,?,?)",
                (fresh(), rng.randrange(4), rng.randrange(6), lo, lo + rng.randrange(9), 1),
            )
        elif kind == 6:
            db.execute("UPDATE slot SET lo = lo + ? WHERE id = ?", (rng.randrange(5), some(db, "slot")))
        elif kind == 7:
            db.execute("UPDATE slot SET hi = hi - ? WHERE id = ?", (rng.randrange(5), some(db, "slot")))
        elif kind == 8:
            db.execute(
                "UPDATE slot SET start = ?, active = ? WHERE id = ?",
                (rng.randrange(6), rng.randrange(2), some(db, "slot")),
            )
        elif kind == 9:
            db.execute("DELETE FROM slot WHERE id = ?", (some(db, "slot"),))
        elif kind == 10:
            name = rng.choice(["Food", "Rent", "Fun", "Bus"])
            if not db.execute("SELECT 1 FROM category WHERE name = ?", (name,)).fetchone():
                db.execute("INSERT INTO category VALUES (?,?)", (fresh(), name))
            db.execute("INSERT INTO expense VALUES (?,?,?)", (fresh(), name, rng.random()))
        elif kind == 11:
            db.execute(
                "UPDATE category SET name = ? WHERE id = ?",
                (rng.choice(["Food", "Rent", "Fun", "Bus", "Tax"]), some(db, "category")),
            )
        elif kind == 12:
            db.execute("DELETE FROM expense WHERE id = ?", (some(db, "expense"),))
        elif kind == 13:
            db.execute("INSERT INTO folder VALUES (?,?,?)", (fresh(), rng.choice([None, some(db, "folder")]), "t"))
        elif kind == 14:
            db.execute("DELETE FROM folder WHERE id = ?", (some(db, "folder"),))
        elif kind == 15:
            db.execute("UPDATE folder SET parent = ? WHERE id = ?", (some(db, "folder"), some(db, "folder")))
        elif kind == 16:
            folder = some(db, "folder")
            if folder:
                db.execute(
                    "INSERT INTO note (id, folder, author, body) VALUES (?,?,?,?)",
                    (fresh(), folder, some(db, "person"), "b"),
                )
        elif kind == 17:
            db.execute("UPDATE note SET body = body || ? WHERE id = ?", (rng.choice("xyz"), some(db, "note")))
        elif kind == 18:
            number = f"R{rng.randrange(40)}"
            db.execute("INSERT INTO invoice (number) VALUES (?)", (number,))
            id = db.execute("SELECT last_insert_rowid()").fetchone()[0]
            for _ in range(rng.randrange(4)):
                db.execute("INSERT INTO line VALUES (?,?,?)", (fresh(), id, rng.randrange(9)))
        elif kind == 19:
            db.execute("DELETE FROM invoice WHERE id = ?", (some(db, "invoice"),))
        elif kind == 20:
            db.execute("DELETE FROM line WHERE id = ?", (some(db, "line"),))
        else:
            db.execute("DELETE FROM note WHERE id = ?", (some(db, "note"),))

    while not stop.is_set():
        db = sqlite3.connect(path, timeout=30, isolation_level=None)
        try:
            db.execute(f"PRAGMA foreign_keys = {rng.choice(['ON', 'ON', 'OFF'])}")
            db.execute("PRAGMA recursive_triggers = OFF")
            for _ in range(rng.randrange(1, 30)):
                if stop.is_set():
                    break
                try:
                    db.execute("BEGIN IMMEDIATE")
                    for _ in range(rng.choice([1, 1, 1, 3, 12])):
                        edit(db)
                    db.execute("COMMIT")
                    counts["edits"] += 1
                except sqlite3.IntegrityError:
                    counts["refused"] += 1
                    if db.in_transaction:
                        db.execute("ROLLBACK")
                except sqlite3.OperationalError as error:
                    counts["busy"] += 1
                    if "locked" not in str(error):
                        counts.setdefault("errors", []).append(str(error))
                    if db.in_transaction:
                        db.execute("ROLLBACK")
                time.sleep(rng.random() * 0.4)
        finally:
            db.close()


def rows(path):
    db = sqlite3.connect(path)
    found = {t: sorted(db.execute(f"SELECT * FROM {t}").fetchall(), key=repr) for t in TABLES}
    problems = db.execute("PRAGMA foreign_key_check").fetchall()
    db.close()
    return found, problems


def main():
    tandem, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 600
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(1 << 30)
    rng = random.Random(seed)
    folder = tempfile.mkdtemp(prefix="soak-constraints-")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    log = open(folder + "/log", "ab")

    def serve():
        p = subprocess.Popen(
            [tandem, "serve", "--data", folder + "/spaces", "--listen", f"127.0.0.1:{port}"], stdout=log, stderr=log
        )
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return p
            except OSError:
                time.sleep(0.1)
        raise SystemExit("the server does not start: " + folder)

    server = serve()
    paths = [f"{folder}/{n}.db" for n in "abcd"]
    url = f"http://127.0.0.1:{port}"
    for path in paths:
        db = sqlite3.connect(path)
        db.executescript("PRAGMA journal_mode = WAL;" + SCHEMA)
        db.close()
        arguments = [tandem, "attach", path, "--server", url, "--space", "s", "--renumber", "invoice"]
        for t in TABLES:
            arguments += ["--table", t]
        subprocess.run(arguments, check=True, stdout=log, stderr=log)

    def watch(path):
        return subprocess.Popen([tandem, "sync", path, "--watch", "--quiet"], stdout=log, stderr=log)

    watches = [watch(p) for p in paths]
    stop, counts, kills = threading.Event(), {"edits": 0, "refused": 0, "busy": 0}, 0
    writers = [threading.Thread(target=writer, args=(p, f"{seed}{i}", stop, counts)) for i, p in enumerate(paths)]
    for w in writers:
        w.start()
    end = time.time() + seconds
    while time.time() < end:
        time.sleep(min(rng.random() * 20, max(0, end - time.time())))
        victim = rng.randrange(5)
        p = server if victim == 4 else watches[victim]
        p.send_signal(signal.SIGKILL)
        p.wait()
        kills += 1
        time.sleep(rng.random() * 3)
        if victim == 4:
            server = serve()
        else:
            watches[victim] = watch(paths[victim])
    stop.set()
    for w in writers:
        w.join()
    for p in watches:
        p.terminate()
        p.wait()
    for _ in range(12):
        for path in paths:
            subprocess.run([tandem, "sync", path, "--quiet"], stdout=log, stderr=log)
    listed = {}
    for path in paths:
        r = subprocess.run([tandem, "sync", path, "--verify", "--json"], stdout=subprocess.PIPE, stderr=log)
        listed[path[-4]] = r.stdout.decode().strip().split("\n")[-1]
    server.terminate()
    server.wait()
    contents = [rows(p) for p in paths]
    print(f"seed {seed}: {counts}, {kills} kills, {folder}")
    for name, line in listed.items():
        print(" ", name, line)
    print("  rows:", {t: len(contents[0][0][t]) for t in TABLES})
    bad = False
    for i in range(1, 4):
        for t in TABLES:
            if contents[i][0][t] != contents[0][0][t]:
                bad = True
                print(
                    f"  {t} differs in {paths[i][-4]}:",
                    [r for r in contents[i][0][t] if r not in contents[0][0][t]][:3],
                    [r for r in contents[0][0][t] if r not in contents[i][0][t]][:3],
                )
    for i in range(4):
        if contents[i][1]:
            bad = True
            print("  foreign keys:", paths[i], contents[i][1][:5])
    print("differ" if bad else "equal")
    sys.exit(bad)


main()
