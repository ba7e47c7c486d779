#!/usr/bin/env python3
"""A replica of a Tandem space, in Python's standard library alone.

It shows the whole protocol of Documentation/Protocol.md: offline edits, commits that are repeated safely, pulls,
merges by field, digests and events. All of its data is in one SQLite file, or in memory.

    tandem_client.py notes.sqlite attach --server http://127.0.0.1:7420 --space notes --table note:id:title,likes \\
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


def parsed(item):
    return item and json.loads(item)


def key(id):
    """The values of a key in one form: a real that equals a 64-bit integer is that integer."""
    return [int(item) if isinstance(item, float) and item.is_integer() and -2**63 <= item < 2**63 else item
            for item in id]


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
    if isinstance(item, (str, bytes)):
        content = item.encode() if isinstance(item, str) else item
        return head(3 if isinstance(item, str) else 2, len(content)) + content
    for code, form in ((b"\xf9", ">e"), (b"\xfa", ">f"), (b"\xfb", ">d")):  # the shortest form that is exact
        try:
            if struct.unpack(form, struct.pack(form, item))[0] == item:
                return code + struct.pack(form, item)
        except OverflowError:
            pass


def encoding(table, id, fields):
    entries = sorted((cbor(name), cbor(decoded(item))) for name, item in fields.items())
    entries = [name + item for name, item in entries if item != b"\xf6"]
    return (head(4, 3) + cbor(table) + head(4, len(id)) + b"".join(cbor(decoded(item)) for item in key(id))
            + head(5, len(entries)) + b"".join(entries))


def record_hash(table, id, fields):
    return int.from_bytes(hashlib.sha256(encoding(table, id, fields)).digest()[:16], "big")


# Merging

POLICIES = {"local": lambda mine, theirs: mine, "remote": lambda mine, theirs: theirs, "maximum": max, "minimum": min}


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
        return parsed((self.db.execute("SELECT value FROM state WHERE name = ?", (name,)).fetchone() or [None])[0])

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

    # The application's side: edits, with or without a connection.

    def rows(self, table):
        found = self.db.execute("SELECT id, row FROM record WHERE tab = ? AND row IS NOT NULL ORDER BY id", (table,))
        return [(json.loads(id), json.loads(row)) for id, row in found]

    def set(self, table, id, fields):
        with self:
            self.write(table, id, row={**(self.find(table, id)[1] or {}), **fields})

    def delete(self, table, id):
        with self:
            self.write(table, id, row=None)

    def find(self, table, id):
        found = self.db.execute("SELECT base, row FROM record WHERE tab = ? AND id = ?", (table, text(key(id))))
        return [parsed(version) for version in found.fetchone() or (None, None)]

    def based(self):
        """The records that the space had at the revision."""
        return self.db.execute("SELECT tab, id FROM record WHERE base IS NOT NULL").fetchall()

    def write(self, table, id, **columns):
        """Writes versions of a record; the digest is that of all base versions."""
        place = table, text(key(id))
        if "base" in columns:
            for fields, sign in ((self.find(table, id)[0], -1), (columns["base"], 1)):
                if fields is not None:
                    self["digest"] = (self["digest"] + sign * record_hash(table, id, fields)) % 2**128
        self.db.execute("INSERT OR IGNORE INTO record (tab, id) VALUES (?, ?)", place)
        for name, fields in columns.items():
            self.db.execute(f"UPDATE record SET {name} = ? WHERE tab = ? AND id = ?", (canonical(fields), *place))

    # Requests

    def open(self, path, message=None, **parameters):
        to, token = self["connection"], os.environ.get("TANDEM_TOKEN")
        if to["token_file"]:
            with open(to["token_file"]) as file:
                token = file.read().strip()
        query = urllib.parse.urlencode({name: item for name, item in parameters.items() if item is not None})
        url = f"{to['server'].rstrip('/')}/v1/spaces/{to['space']}{path}{query and '?' + query}"
        fields = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        request = urllib.request.Request(url, message and message.encode(), fields)
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
            raise Unanswered(str(error)) from None
        if isinstance(answer, dict) and answer.get("outcome") == "rejected":
            raise (Unanswered if answer["code"] in ("unavailable", "tooManyRequests") else Refusal)(answer["message"])
        return answer

    # Synchronization. Each step is one transaction, so that a crash between two of them loses nothing.

    def sync(self):
        """Synchronizes until the records are those of the space, and returns the revision."""
        self.ask("/tables", text(self["tables"]))
        with self:
            self["pull"] = self["pull"] or "changes"
        while True:
            if self["outbox"]:
                self.settle(self.ask("/commits", self["outbox"]))
            elif self["pull"]:
                self.pull()
            elif not self.freeze():
                return self["revision"]

    def freeze(self):
        """Makes a commit of the edits and stores it before it is sent. Returns False if there are none."""
        with self:
            query, changes = "SELECT tab, id, base, row FROM record WHERE base IS NOT row LIMIT ?", []
            for table, id, base, row in self.db.execute(query, (MAX_RECORDS,)).fetchall():
                self.db.execute("UPDATE record SET sent = row, is_sent = 1 WHERE tab = ? AND id = ?", (table, id))
                for verb, content in self.verbs(parsed(base), parsed(row)):
                    changes.append({"table": table, "id": json.loads(id), verb: content})
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
        outcome, sequence = answer["outcome"], json.loads(self["outbox"])["sequence"]
        reasons = {(item["table"], text(key(item["id"]))): item["reason"] for item in answer.get("changes", [])}
        with self:
            was_made = outcome == "accepted" or outcome == "sequence" and "fate" in answer
            query = "SELECT tab, id, sent, base, row FROM record WHERE is_sent"
            for table, id, *versions in self.db.execute(query).fetchall():
                content, base, row = map(parsed, versions)
                if was_made:
                    self.write(table, json.loads(id), base=content)
                if outcome == "refused" and (table, id) in reasons:  # the edit leaves the row, under later edits
                    self.write(table, json.loads(id), row=merge(content, row, base, self["policies"])[0])
                    rejection = table, id, versions[0], reasons[table, id]
                    self.db.execute("INSERT INTO rejected VALUES (?, ?, ?, ?)", rejection)
            self.db.execute("UPDATE record SET is_sent = 0, sent = NULL")
            self["outbox"], self["pull"] = None, None if outcome == "refused" else "changes"
            if outcome in ("accepted", "conflict", "refused"):
                self["sequence"] = sequence
            if outcome == "accepted" and version(answer["revision"]) == version(self["revision"]) + 1:
                self["revision"], self["pull"] = answer["revision"], None
                self.check(answer["digest"])
            elif outcome == "sequence":
                self.rename()
            elif outcome == "gone":
                self.lose(answer["reason"])

    def lose(self, reason):
        """The space cannot continue from the revision: everything is pulled."""
        self["pull"] = "everything"
        if reason != "horizon":  # another history: no version is known to be common
            for table, id in self.based():
                self.write(table, json.loads(id), base=None)
            self["revision"] = None
            self.rename()

    def pull(self):
        since, states, cursor = None if self["pull"] == "everything" else self["revision"], {}, None
        while True:
            page = self.ask("/changes", since=since, cursor=cursor, replica=self["replica"])
            if page.get("outcome") == "gone":
                with self:
                    return self.lose(page["reason"])
            for state in page["changes"]:  # a record that is changed between two pages is in both
                states[state["table"], text(key(state["id"]))] = state.get("fields")
            cursor = page.get("next")
            if not cursor:
                break
        with self:
            if page.get("replica", {}).get("sequence", 0) < self["sequence"] and self["revision"]:
                return self.lose("history")  # the space has lost a commit that it had accepted
            for record in [] if since else self.based():
                states.setdefault(record)
            for (table, id), remote in states.items():
                base, local = self.find(table, json.loads(id))
                merged, open_fields = merge(base, local, remote, self["policies"])
                self.write(table, json.loads(id), base=remote, row=merged)
                if open_fields != []:
                    self.db.execute("INSERT INTO conflict VALUES (?, ?, ?, ?, ?, ?)", (
                        table, id, text(open_fields), canonical(base), canonical(local), canonical(remote)))
            self["revision"], self["pull"] = page["revision"], None
            self.db.execute("DELETE FROM record WHERE base IS NULL AND row IS NULL")
            self.check(page["digest"], is_final=not since)

    def check(self, digest, is_final=False):
        if f"{self['digest']:032x}" != digest:
            if is_final:
                raise RuntimeError("the digest of all records differs from that of the space")
            self["pull"] = "everything"

    def watch(self, path):
        """Follows the space, and edits of other processes, until interrupted; prints the revisions."""
        changed, known = threading.Event(), None

        def listen():
            while True:
                try:
                    with Replica(path).open("/events", since=self.followed) as stream:
                        for line in stream:
                            if line.startswith(b"data:"):
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
                    print(self.followed, flush=True)
                except Unanswered as error:
                    print(error, file=sys.stderr)
                    time.sleep(RETRY_PAUSE)
                if known and not listener.is_alive():
                    listener.start()
            changed.wait(WATCH_PAUSE)


def version(revision):
    return int(revision.split(".")[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", help="the SQLite file of the replica")
    parser.add_argument("command", choices=("attach", "set", "delete", "rows", "conflicts", "sync", "watch"))
    parser.add_argument("words", nargs="*", help="set TABLE KEY FIELD=JSON…, delete TABLE KEY, or rows TABLE; "
                        "KEY is a JSON value, or an array of them")
    parser.add_argument("--server", help="the address of the server")
    parser.add_argument("--space", help="the name of the space")
    parser.add_argument("--table", action="append", default=[], help="NAME:KEY[,KEY]:COLUMN[,COLUMN]")
    parser.add_argument("--policy", action="append", default=[], help=f"FIELD={'|'.join(['counter', *POLICIES])}")
    parser.add_argument("--token-file", help="a file with the token; else the variable TANDEM_TOKEN is used")
    given = parser.parse_intermixed_args()
    words, command, replica = given.words, given.command, Replica(given.file)
    if len(words) < {"set": 3, "delete": 2, "rows": 1}.get(command, 0):
        parser.error(f"{command} needs more words; see --help")
    id = json.loads(words[1]) if len(words) > 1 else []
    id = id if isinstance(id, list) else [id]
    if command == "attach":
        if not (given.server and given.space and given.table):
            parser.error("attach needs --server, --space and --table")
        replica.attach(
            [{"name": name, "key": keys.split(","), "columns": columns.split(","), "granularity": "field"}
             for name, keys, columns in (choice.split(":") for choice in given.table)],
            dict(choice.split("=") for choice in given.policy), server=given.server, space=given.space,
            token_file=given.token_file and os.path.abspath(given.token_file))
    elif command == "set":
        fields = (word.split("=", 1) for word in words[2:])
        replica.set(words[0], id, {name: json.loads(value) for name, value in fields})
    elif command == "delete":
        replica.delete(words[0], id)
    elif command == "rows":
        for row in replica.rows(words[0]):
            print(text(row))
    elif command == "conflicts":
        for table, *rest in replica.db.execute("SELECT * FROM conflict"):
            print(text([table, *map(parsed, rest)]))
    elif command == "sync":
        print(replica.sync())
    else:
        replica.watch(given.file)


if __name__ == "__main__":
    try:
        main()
    except (Refusal, Unanswered) as error:
        sys.exit(f"tandem_client: {error}")
    except KeyboardInterrupt:
        pass
