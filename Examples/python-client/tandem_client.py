#!/usr/bin/env python3
"""A replica of a Tandem space, in Python's standard library alone.

It shows the whole protocol of Documentation/Protocol.md: offline edits, commits that are repeated safely, pulls,
merges by field, digests and events. All of its data is in one SQLite file, or in memory.

    tandem_client.py notes.sqlite attach --server http://127.0.0.1:8080 --space notes --table note:id:title,likes \\
        --policy likes=counter --token-file token
    tandem_client.py notes.sqlite set note '"plan"' title='"Plan"' likes=5
    tandem_client.py notes.sqlite sync
    tandem_client.py notes.sqlite rows note
"""
import argparse, base64, hashlib, http.client, json, math, os, secrets, sqlite3, struct, sys, threading, time
import urllib.error, urllib.parse, urllib.request

TIMEOUT = 60         # seconds without a byte; longer than the pause between two heartbeats of an event stream
MAX_RECORDS = 5_000  # in a commit; each has at most two changes
WATCH_PAUSE = 0.2    # seconds between two looks for edits of other processes
RETRY_PAUSE = 5      # seconds before a stream that has ended is followed again


class Refusal(Exception):
    """The space refuses a request as a whole; nothing was stored."""


class Unanswered(Exception):
    """There is no answer that can be read, so the outcome is unknown. The same bytes may be sent again."""


# Values. JSON keeps SQLite's five types: 1 is an integer, 1.0 a real; blobs, NaN and infinities are objects.

def decoded(item):
    if not isinstance(item, dict):
        return item
    return base64.b64decode(item["blob"]) if "blob" in item else float(item["real"])


def text(message):
    """A message as JSON. Equal messages have equal texts, and 1 and 1.0 have different ones."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":"))


def canonical(fields):
    """The fields of a record as text; a missing field is null. None for a record that does not exist."""
    return None if fields is None else text({name: fields[name] for name in sorted(fields) if fields[name] is not None})


def same(first, second):
    return text(first) == text(second)


# Digests: the sum of the records' hashes modulo 2**128. A hash is the first half of the SHA-256 of the record in
# deterministic CBOR (RFC 8949, section 4.2.1).

def head(major, argument):
    if argument < 24:
        return bytes([major << 5 | argument])
    size, code = next(pair for pair in ((1, 24), (2, 25), (4, 26), (8, 27)) if argument < 1 << 8 * pair[0])
    return bytes([major << 5 | code]) + argument.to_bytes(size, "big")


def cbor(item):
    if item is None or isinstance(item, float) and math.isnan(item):
        return b"\xf6"
    if isinstance(item, int):
        return head(0, item) if item >= 0 else head(1, ~item)
    if isinstance(item, str):
        return head(3, len(item.encode())) + item.encode()
    if isinstance(item, bytes):
        return head(2, len(item)) + item
    for code, form in ((b"\xf9", ">e"), (b"\xfa", ">f"), (b"\xfb", ">d")):  # the shortest form that is exact
        try:
            if struct.unpack(form, struct.pack(form, item))[0] == item:
                return code + struct.pack(form, item)
        except OverflowError:
            pass


def encoding(table, id, fields):
    entries = {cbor(name): cbor(decoded(item)) for name, item in fields.items()}
    entries = sorted(entry for entry in entries.items() if entry[1] != b"\xf6")
    return (head(4, 3) + cbor(table) + head(4, len(id)) + b"".join(cbor(decoded(item)) for item in key(id))
            + head(5, len(entries)) + b"".join(name + item for name, item in entries))


def record_hash(table, id, fields):
    return int.from_bytes(hashlib.sha256(encoding(table, id, fields)).digest()[:16], "big")


def key(id):
    """The values of a key in one form: a real that equals a 64-bit integer is that integer."""
    return [int(item) if isinstance(item, float) and item.is_integer() and -2**63 <= item < 2**63 else item
            for item in id]


# Merging

POLICIES = {"local": lambda local, remote: local, "remote": lambda local, remote: remote, "maximum": max, "minimum": min}


def merge(base, local, remote, policies):
    """The merge of two versions of a record, and the names of the fields that nobody can decide (None for all)."""
    if same(local, base):
        return remote, []
    if same(remote, base):
        return local, []
    if local is None or remote is None:  # an edit beats a deletion
        return local if remote is None else remote, [] if same(local, remote) else None
    merged, open_fields = {}, []
    for name in sorted({*(base or {}), *local, *remote}):
        old, mine, theirs = ((version or {}).get(name) for version in (base, local, remote))
        policy = policies.get(name)
        if policy == "counter" and all(type(item) is int for item in (old, mine, theirs)):
            merged[name] = theirs + mine - old  # both changes count, even if they are equal
        elif same(mine, old) or same(mine, theirs):
            merged[name] = theirs
        elif same(theirs, old):
            merged[name] = mine
        elif policy in POLICIES and mine is not None and theirs is not None:
            merged[name] = POLICIES[policy](mine, theirs)
        else:  # the record gets the version of the space; the other one is kept as a conflict
            merged[name] = theirs
            open_fields.append(name)
    return merged, open_fields


class Space:
    """A space of a server."""

    def __init__(self, server, space, token):
        self.url, self.token = f"{server.rstrip('/')}/v1/spaces/{urllib.parse.quote(space, safe='')}", token

    def open(self, path, message=None, **parameters):
        query = urllib.parse.urlencode({name: item for name, item in parameters.items() if item is not None})
        request = urllib.request.Request(self.url + path + (query and "?" + query), message and message.encode())
        request.add_header("Content-Type", "application/json")
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        return urllib.request.urlopen(request, timeout=TIMEOUT)

    def ask(self, path, message=None, **parameters):
        """The answer to a request: a page, an outcome, or a Refusal. Anything else is Unanswered."""
        try:
            try:
                response = self.open(path, message, **parameters)
            except urllib.error.HTTPError as error:
                response = error
            with response:
                answer = json.loads(response.read())
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise Unanswered(f"{self.url}: {error}") from None
        if isinstance(answer, dict) and answer.get("outcome") == "rejected":
            raise (Unanswered if answer["code"] in ("unavailable", "tooManyRequests") else Refusal)(answer["message"])
        return answer

    def events(self, since):
        """The data of each event after a revision, until the server ends the stream."""
        with self.open("/events", since=since) as stream:
            for line in stream:
                if line.startswith(b"data:"):
                    yield json.loads(line[5:])


class Replica:
    """Records in a SQLite file, and what the space had of them at the last synchronization."""

    SCHEMA = """
        CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value TEXT);
        CREATE TABLE IF NOT EXISTS record (  -- base: at the revision; sent: in the outbox; row: now
          tab TEXT, id TEXT, base TEXT, sent TEXT, is_sent INTEGER DEFAULT 0, row TEXT, PRIMARY KEY (tab, id));
        CREATE TABLE IF NOT EXISTS conflict (tab TEXT, id TEXT, fields TEXT, base TEXT, local TEXT, remote TEXT);
        CREATE TABLE IF NOT EXISTS rejected (tab TEXT, id TEXT, content TEXT, reason TEXT)"""

    def __init__(self, path=":memory:"):
        self.db = sqlite3.connect(path, isolation_level=None, timeout=30)
        self.db.executescript("PRAGMA journal_mode=WAL;" + self.SCHEMA)

    def __getitem__(self, name):
        found = self.db.execute("SELECT value FROM state WHERE name = ?", (name,)).fetchone()
        return found and json.loads(found[0])

    def __setitem__(self, name, value):
        self.db.execute("INSERT OR REPLACE INTO state VALUES (?, ?)", (name, text(value)))

    def __enter__(self):
        self.db.execute("BEGIN IMMEDIATE")

    def __exit__(self, error, *_):
        self.db.execute("ROLLBACK" if error else "COMMIT")

    def attach(self, tables, policies, **connection):
        with self:
            self["tables"], self["policies"], self["connection"] = tables, policies, connection
            self["pull"], self["digest"], self["revision"] = "everything", 0, None
            self.rename()

    def rename(self):
        """A new identity: for a new file, and for one that was restored or copied."""
        self["replica"], self["sequence"] = secrets.token_hex(16), 0

    def space(self):
        connection, token = self["connection"], os.environ.get("TANDEM_TOKEN")
        if connection["token_file"]:
            with open(connection["token_file"]) as file:
                token = file.read().strip()
        return Space(connection["server"], connection["space"], token)

    # The application's side: edits, with or without a connection.

    def rows(self, table):
        found = self.db.execute("SELECT id, row FROM record WHERE tab = ? AND row IS NOT NULL ORDER BY id", (table,))
        return [(json.loads(id), json.loads(row)) for id, row in found]

    def set(self, table, id, fields):
        with self:
            row = self.find(table, id, "row")
            self.write(table, id, row={**(row or {}), **fields})

    def delete(self, table, id):
        with self:
            self.write(table, id, row=None)

    def find(self, table, id, column):
        found = self.db.execute(f"SELECT {column} FROM record WHERE tab = ? AND id = ?", (table, text(key(id)))).fetchone()
        return json.loads(found[0]) if found and found[0] else None

    def write(self, table, id, **columns):
        """Writes versions of a record; the digest is that of all base versions."""
        id = key(id)
        if "base" in columns:
            for fields, sign in ((self.find(table, id, "base"), -1), (columns["base"], 1)):
                if fields is not None:
                    self["digest"] = (self["digest"] + sign * record_hash(table, id, fields)) % 2**128
        self.db.execute("INSERT OR IGNORE INTO record (tab, id) VALUES (?, ?)", (table, text(id)))
        for name, fields in columns.items():
            self.db.execute(f"UPDATE record SET {name} = ? WHERE tab = ? AND id = ?", (canonical(fields), table, text(id)))

    # Synchronization. Each step is one transaction, so that a crash between two of them loses nothing.

    def sync(self):
        """Synchronizes until the records are those of the space, and returns the revision."""
        space = self.space()
        space.ask("/tables", text(self["tables"]))
        with self:
            self["pull"] = self["pull"] or "changes"
        while True:
            if self["outbox"]:
                self.settle(space.ask("/commits", self["outbox"]))
            elif self["pull"]:
                self.pull(space)
            elif not self.freeze():
                return self["revision"]

    def freeze(self):
        """Makes a commit of the edits and stores it before it is sent. Returns False if there are none."""
        with self:
            dirty = self.db.execute("SELECT tab, id, base, row FROM record WHERE base IS NOT row LIMIT ?", (MAX_RECORDS,))
            changes = []
            for table, id, base, row in dirty.fetchall():
                record = {"table": table, "id": json.loads(id)}
                self.db.execute("UPDATE record SET sent = row, is_sent = 1 WHERE tab = ? AND id = ?", (table, id))
                for verb, content in self.verbs(base and json.loads(base), row and json.loads(row)):
                    changes.append({**record, verb: content})
            if changes:
                self["outbox"] = text({
                    "replica": self["replica"], "sequence": self["sequence"] + 1, "commit": secrets.token_hex(16),
                    "base": self["revision"], "changes": changes})
            return bool(changes)

    def verbs(self, base, row):
        if base is None or row is None:
            return [("delete", True) if row is None else ("insert", row)]
        changed = {name: row.get(name) for name in {*base, *row} if not same(base.get(name), row.get(name))}
        counts = {name: value - base[name] for name, value in changed.items()
                  if self["policies"].get(name) == "counter" and type(value) is type(base.get(name)) is int
                  and -2**63 <= value - base[name] < 2**63}
        updates = {name: value for name, value in changed.items() if name not in counts}
        return [(verb, fields) for verb, fields in (("update", updates), ("add", counts)) if fields]

    def settle(self, answer):
        """Takes note of the outcome of the commit in the outbox."""
        outcome, commit = answer["outcome"], json.loads(self["outbox"])
        with self:
            was_made = outcome == "accepted" or outcome == "sequence" and "fate" in answer
            sent = self.db.execute("SELECT tab, id, sent, base, row FROM record WHERE is_sent").fetchall()
            for table, id, *versions in sent:
                content, base, row = (version and json.loads(version) for version in versions)
                if was_made:
                    self.write(table, json.loads(id), base=content)
                reasons = [item["reason"] for item in answer.get("changes", [])
                           if (item["table"], text(key(item["id"]))) == (table, id)]
                if outcome == "refused" and reasons:  # the edit leaves the row, under later edits
                    self.write(table, json.loads(id), row=merge(content, row, base, self["policies"])[0])
                    self.db.execute("INSERT INTO rejected VALUES (?, ?, ?, ?)", (table, id, canonical(content), reasons[0]))
            self.db.execute("UPDATE record SET is_sent = 0, sent = NULL")
            self["outbox"], self["pull"] = None, "changes"
            if outcome in ("accepted", "conflict", "refused"):
                self["sequence"] = commit["sequence"]
            if outcome == "accepted" and version(answer["revision"]) == version(self["revision"]) + 1:
                self["revision"], self["pull"] = answer["revision"], None
                self.check(answer["digest"])
            elif outcome == "refused":
                self["pull"] = None
            elif outcome == "sequence":
                self.rename()
            elif outcome == "gone":
                self.lose(answer["reason"])

    def lose(self, reason):
        """The space cannot continue from the revision: everything is pulled."""
        self["pull"] = "everything"
        if reason != "horizon":  # another history: no version is known to be common
            for table, id in self.db.execute("SELECT tab, id FROM record WHERE base IS NOT NULL").fetchall():
                self.write(table, json.loads(id), base=None)
            self["revision"] = None
            self.rename()

    def pull(self, space):
        since, everything = self["revision"], self["pull"] == "everything"
        states, cursor = {}, None
        while True:
            page = space.ask("/changes", since=None if everything else since, cursor=cursor, replica=self["replica"])
            if page.get("outcome") == "gone":
                with self:
                    return self.lose(page["reason"])
            for state in page["changes"]:  # a record that is changed between two pages is in both
                states[state["table"], text(key(state["id"]))] = state.get("fields")
            cursor = page.get("next")
            if not cursor:
                break
        with self:
            if page.get("replica", {}).get("sequence", 0) < self["sequence"] and since:
                return self.lose("history")  # the space has lost a commit that it had accepted
            if everything:
                for table, id in self.db.execute("SELECT tab, id FROM record WHERE base IS NOT NULL").fetchall():
                    states.setdefault((table, id))
            for (table, id), remote in states.items():
                self.apply(table, json.loads(id), remote)
            self["revision"], self["pull"] = page["revision"], None
            self.db.execute("DELETE FROM record WHERE base IS NULL AND row IS NULL")
            self.check(page["digest"], is_final=everything)

    def apply(self, table, id, remote):
        base, local = self.find(table, id, "base"), self.find(table, id, "row")
        merged, open_fields = merge(base, local, remote, self["policies"])
        self.write(table, id, base=remote, row=merged)
        if open_fields != []:
            self.db.execute("INSERT INTO conflict VALUES (?, ?, ?, ?, ?, ?)", (
                table, text(id), text(open_fields), canonical(base), canonical(local), canonical(remote)))

    def check(self, digest, is_final=False):
        if f"{self['digest']:032x}" != digest:
            if is_final:
                raise RuntimeError("the digest of all records differs from that of the space")
            self["pull"] = "everything"

    def watch(self, report):
        """Follows the space, and edits of other processes, until interrupted."""
        space, changed, known = self.space(), threading.Event(), None

        def listen():
            while True:
                try:
                    for _ in space.events(self.followed):
                        changed.set()
                except (OSError, ValueError, http.client.HTTPException):
                    pass
                time.sleep(RETRY_PAUSE)
                changed.set()  # after the end of a stream, a pull finds out what is new

        listener = threading.Thread(target=listen, daemon=True)
        while True:
            seen = self.db.execute("PRAGMA data_version").fetchone()
            if changed.is_set() or seen != known:
                changed.clear()
                try:
                    self.followed, known = self.sync(), seen
                    report(self.followed)
                except Unanswered as error:
                    print(error, file=sys.stderr)
                    time.sleep(RETRY_PAUSE)
                if known and not listener.is_alive():
                    listener.start()
            changed.wait(WATCH_PAUSE)


def version(revision):
    return int(revision.split(".")[1])


# The command

def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="the SQLite file of the replica")
    commands = parser.add_subparsers(dest="command", required=True)
    attach = commands.add_parser("attach", help="make the file a replica of a space")
    attach.add_argument("--server", required=True)
    attach.add_argument("--space", required=True)
    attach.add_argument("--table", action="append", required=True, help="NAME:KEY[,KEY]:COLUMN[,COLUMN]")
    attach.add_argument("--policy", action="append", default=[], help="FIELD=counter, local, remote, maximum or minimum")
    attach.add_argument("--token-file", help="a file with the token; else the variable TANDEM_TOKEN is used")
    for name in ("set", "delete", "rows"):
        command = commands.add_parser(name)
        command.add_argument("table")
        if name != "rows":
            command.add_argument("key", type=json.loads, help="a JSON value, or an array of them")
        if name == "set":
            command.add_argument("fields", nargs="+", metavar="FIELD=JSON")
    for name in ("sync", "watch", "conflicts"):
        commands.add_parser(name)
    arguments = parser.parse_args()
    replica, id = Replica(arguments.file), getattr(arguments, "key", None)
    id = id if isinstance(id, list) else [id]
    if arguments.command == "attach":
        tables = [choice.split(":") for choice in arguments.table]
        replica.attach(
            [{"name": name, "key": key.split(","), "columns": columns.split(","), "granularity": "field"}
             for name, key, columns in tables],
            dict(choice.split("=") for choice in arguments.policy), server=arguments.server, space=arguments.space,
            token_file=arguments.token_file and os.path.abspath(arguments.token_file))
    elif arguments.command == "set":
        fields = (field.split("=", 1) for field in arguments.fields)
        replica.set(arguments.table, id, {name: json.loads(value) for name, value in fields})
    elif arguments.command == "delete":
        replica.delete(arguments.table, id)
    elif arguments.command == "rows":
        for row in replica.rows(arguments.table):
            print(text(row))
    elif arguments.command == "conflicts":
        for conflict in replica.db.execute("SELECT * FROM conflict"):
            print(text([item and json.loads(item) if place else item for place, item in enumerate(conflict)]))
    elif arguments.command == "sync":
        print(replica.sync())
    else:
        replica.watch(lambda revision: print(revision, flush=True))


if __name__ == "__main__":
    try:
        main()
    except (Refusal, Unanswered) as error:
        sys.exit(f"tandem_client: {error}")
    except KeyboardInterrupt:
        pass
