#!/usr/bin/env python3
"""A replica of a Tandem space by Documentation/Protocol.md, in Python's standard library alone.

    FILE attach SERVER SPACE TABLES COUNTERS [TOKEN_FILE]
    FILE set TABLE KEY FIELDS | delete TABLE KEY | rows TABLE | sync | watch | conflicts

FILE is a SQLite database. COUNTERS, an array of names of fields, TABLES, KEY and FIELDS are JSON
as in the protocol: 1 is an integer, 1.0 a real, {"blob": "AAE="} a blob.
"""
import base64
import contextlib
import hashlib
import http.client
import json
import secrets
import sqlite3
import struct
import sys
import urllib.parse

TIMEOUT = 60  # seconds without a byte; an event stream has a heartbeat every 15 seconds
MAX_RECORDS = 5_000  # in a commit, each with at most two changes
MAX_COMMIT_BYTES, MAX_RECORD_BYTES = 8 << 20, 4_000_000  # a space accepts 16 MiB and 4 MiB
POSITION = ("revision", "replica", "sequence")  # an outcome or a pull changes at least one


def text(value):
    """The JSON of a value. Equal values have equal texts, and 1 and 1.0 different ones."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True,
                      separators=(",", ":"))


def are_int64(*values):
    """True if all values are integers of SQLite."""
    return all(type(value) is int and -2**63 <= value < 2**63 for value in values)


def place(table, key):
    """The name of a record in a file: one text for equal keys, such as 1 and 1.0."""
    return text([table, [int(value) if isinstance(value, float) and value.is_integer()
                         and are_int64(int(value)) else value for value in key]])


def head(major, argument):
    """The shortest head of an item in CBOR."""
    if argument < 24:
        return bytes([major << 5 | argument])
    power = next(power for power in range(4) if argument < 1 << (8 << power))
    return bytes([major << 5 | 24 + power]) + argument.to_bytes(1 << power, "big")


def cbor(value):
    """The deterministic CBOR of a value. Raises ValueError if SQLite has no such value."""
    if value in ({"real": "nan"}, {"real": "inf"}, {"real": "-inf"}):
        value = float(value["real"])
    if value is None or value != value:  # NaN
        return b"\xf6"
    if are_int64(value):
        return head(0, value) if value >= 0 else head(1, ~value)
    if isinstance(value, str):
        return head(3, len(value.encode())) + value.encode()
    if isinstance(value, dict) and list(value) == ["blob"]:
        content = base64.b64decode(value["blob"], validate=True)
        return head(2, len(content)) + content
    if not isinstance(value, float):
        raise ValueError(f"SQLite has no value {value}")
    for code, form in ((b"\xf9", ">e"), (b"\xfa", ">f"), (b"\xfb", ">d")):
        with contextlib.suppress(OverflowError):
            if struct.unpack(form, struct.pack(form, value)) == (value,):
                return code + struct.pack(form, value)  # the shortest form that is exact


def record_hash(table, key, fields):
    """The first 128 bits of the SHA-256 of a record."""
    values = [cbor(value) for value in json.loads(place(table, key))[1]]
    entries = sorted((cbor(name), cbor(value)) for name, value in fields.items())
    entries = [name + value for name, value in entries if value != cbor(None)]
    content = (head(4, 3) + cbor(table) + head(4, len(values)) + b"".join(values)
               + head(5, len(entries)) + b"".join(entries))
    return int.from_bytes(hashlib.sha256(content).digest()[:16], "big")


def merge(base, local, remote, counters):
    """Merges two versions of a record. Returns the result, and the names of the fields that both
    sides changed differently; None instead if one side deleted what the other one edited."""
    if text(local) == text(base):
        return remote, []
    if text(remote) == text(base):
        return local, []
    if local is None or remote is None:  # an edit wins over a deletion
        return remote if local is None else local, [] if local is remote else None
    merged, undecided = dict(remote), []
    for name in sorted({*(base or {}), *local, *remote}):
        old, mine, theirs = ((fields or {}).get(name) for fields in (base, local, remote))
        if name in counters and are_int64(old, mine, theirs) and are_int64(theirs + mine - old):
            merged[name] = theirs + mine - old  # both changes count, even if they are equal
        elif text(theirs) == text(old):
            merged[name] = mine
        elif text(mine) not in (text(old), text(theirs)):  # the version of the space stays
            undecided.append(name)
    return {name: value for name, value in merged.items() if value is not None}, undecided


def changes(table, key, base, row, counters):
    """The changes that turn the base of a record into its present version."""
    if base is None or row is None:
        verbs = {"delete": True} if row is None else {"insert": row}
    else:
        verbs = {"update": {}, "add": {}}
        for name in {*base, *row}:
            old, new = base.get(name), row.get(name)
            if text(old) != text(new):
                is_sum = name in counters and are_int64(old, new) and are_int64(new - old)
                verbs["add" if is_sum else "update"][name] = new - old if is_sum else new
    return [{"table": table, "id": key, verb: content} for verb, content in verbs.items()
            if content or verb == "insert"]


class Replica:
    """Records in a file, each as [base, row]: the version of the space at the replica's revision,
    and the present one. Each step is one transaction, so that a process that was killed can start
    again. An answer is ignored if another process has made a step since the request."""

    def __init__(self, path):
        self.db = sqlite3.connect(path, isolation_level=None, timeout=60)
        self.db.execute("CREATE TABLE IF NOT EXISTS replica AS SELECT ? AS state",
                        [text({"records": {}, "conflicts": [], "outbox": None})])
        self.conflicts()  # reads the state

    @contextlib.contextmanager
    def transaction(self):
        """Reads the state from the file, and writes it after the body unless that fails."""
        with self.db:  # commits, or rolls back after an error
            self.db.execute("BEGIN IMMEDIATE")
            self.state = json.loads(self.db.execute("SELECT state FROM replica").fetchone()[0])
            yield self.state
            self.db.execute("UPDATE replica SET state = ?", [text(self.state)])

    def attach(self, server, space, tables, counters, token_file=None):
        """Makes the file a replica of a space."""
        with self.transaction() as state:
            state.update(url=f"{server.rstrip('/')}/v1/spaces/{space}", token_file=token_file,
                         tables=tables, counters=counters, outbox=None)
            self.restart("epoch")

    def restart(self, reason=None):
        """Demands a pull of everything, as a new replica. Another history has no common base."""
        self.state.update(revision=None, replica=secrets.token_hex(16), sequence=0)
        if reason in ("epoch", "history"):
            for versions in self.state["records"].values():
                versions[0] = None

    def rows(self, table):
        """The keys and the fields of the records of a table."""
        with self.transaction() as state:
            rows = [(*json.loads(name), row) for name, (_, row) in state["records"].items()]
            return [(key, row) for tab, key, row in rows if tab == table and row is not None]

    def conflicts(self):
        """What merges and refusals overruled: table, key, fields or reason, and the versions."""
        with self.transaction() as state:
            return state["conflicts"]

    def set(self, table, key, fields):
        """Changes fields of a record, or makes a record."""
        with self.transaction() as state:
            base, row = state["records"].get(place(table, key), [None, None])
            row = {name: value for name, value in {**(row or {}), **fields}.items()
                   if value is not None}
            record_hash(table, key, row)  # raises ValueError for what SQLite cannot store
            if len(text([key, row]).encode()) > MAX_RECORD_BYTES:
                raise ValueError("the record is too long")
            state["records"][place(table, key)] = [base, row]

    def delete(self, table, key):
        """Deletes a record."""
        with self.transaction() as state:
            state["records"].get(place(table, key), [None, None])[1] = None

    def ask(self, path, body=None, **parameters):
        """The answer to a request; of an event stream, the first event. RuntimeError: the request
        had no effect. OSError: nobody knows. The next sync repeats it."""
        url = urllib.parse.urlsplit(f"{self.state['url']}/{path}")
        headers = {"Connection": "close", "Content-Type": "application/json"}
        if self.state["token_file"]:
            with open(self.state["token_file"]) as file:
                headers["Authorization"] = f"Bearer {file.read().strip()}"
        query = urllib.parse.urlencode([pair for pair in parameters.items() if pair[1]])
        kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
        try:
            connection = kind(url.netloc, timeout=TIMEOUT)
            connection.request("POST" if body else "GET", f"{url.path}?{query}", body, headers)
            with connection.getresponse() as reply:
                events = (line[5:] for line in reply if line.startswith(b"data:"))
                content = next(events, b"") if path == "events" else reply.read()
            answer = json.loads(content) if reply.status in (200, 409, 410, 422) else {"code": 0}
        except (ValueError, http.client.HTTPException) as error:
            raise ConnectionError(f"the answer cannot be read: {error}") from None
        if "code" in answer:
            is_unknown = reply.status == 429 or reply.status >= 500
            raise (ConnectionError if is_unknown else RuntimeError)(content.decode())
        return answer

    def sync(self):
        """Synchronizes until the records are those of the space. Returns the revision."""
        self.ask("tables", text(self.state["tables"]).encode())
        while True:
            if self.state["outbox"]:
                self.settle(self.state["outbox"])
            self.pull()
            if not self.freeze():
                return self.state["revision"]

    def watch(self):
        """Synchronizes after each event until the connection ends; prints the revisions."""
        while True:
            print(self.sync(), flush=True)
            self.ask("events", since=self.state["revision"])

    def freeze(self):
        """Stores a commit of edits; its bytes stay. Returns False if there are no edits."""
        with self.transaction() as state:
            if state["outbox"] or not state["revision"]:
                return True  # the other steps come first
            edits, sent, size = [], {}, 0
            for name, (base, row) in state["records"].items():
                if text(base) != text(row) and len(sent) < MAX_RECORDS and size < MAX_COMMIT_BYTES:
                    edits += changes(*json.loads(name), base, row, state["counters"])
                    sent[name], size = row, size + len(text(edits[-2:]).encode())
            if edits:
                state["outbox"] = {"sent": sent, "message": text({
                    "replica": state["replica"], "sequence": state["sequence"] + 1,
                    "commit": secrets.token_hex(16), "base": state["revision"], "changes": edits})}
            return bool(edits)

    def settle(self, outbox):
        """Sends a commit, and notes its outcome."""
        answer = self.ask("commits", outbox["message"].encode())
        outcome, named = answer["outcome"], answer.get("changes", [])
        reasons = {place(change["table"], change["id"]): change["reason"] for change in named}
        with self.transaction() as state:
            if state["outbox"] != outbox:
                return  # another process has had the answer
            state["outbox"] = None
            for name, sent in outbox["sent"].items():
                base, row = state["records"][name]
                if outcome == "accepted" or "fate" in answer:
                    state["records"][name] = [sent, row]
                elif outcome == "refused" and name in reasons:  # later edits stay
                    state["records"][name] = [base, merge(sent, row, base, state["counters"])[0]]
                    state["conflicts"].append([*json.loads(name), reasons[name], base, sent, base])
            if outcome in ("gone", "sequence"):  # sequence: the file was restored or copied
                self.restart(answer.get("reason"))
            else:
                state["sequence"] += 1

    def pull(self):
        """Merges what is new in the space, in one transaction."""
        since, replica, sequence = position = [self.state[name] for name in POSITION]
        remotes, page = {}, {"next": None}
        while "next" in page:
            page = self.ask("changes", since=since, replica=replica, cursor=page["next"])
            for record in page.get("changes", []):  # a later page may have a newer version
                remotes[place(record["table"], record["id"])] = record.get("fields")
        with self.transaction() as state:
            if state["outbox"] or position != [state[name] for name in POSITION]:
                return  # another process has made a step: counts of its commit could double
            if "outcome" in page or page.get("replica", {}).get("sequence", 0) < sequence:
                return self.restart(page.get("reason", "history"))  # the space has lost commits
            if not since:  # a base that is in no page was deleted
                remotes = {**dict.fromkeys(state["records"]), **remotes}
            for name, remote in remotes.items():
                base, local = state["records"].get(name, [None, None])
                row, undecided = merge(base, local, remote, state["counters"])
                state["records"][name] = [remote, row]
                if undecided != []:
                    state["conflicts"].append([*json.loads(name), undecided, base, local, remote])
            digest = sum(record_hash(*json.loads(name), base)
                         for name, (base, _) in state["records"].items() if base is not None)
            is_equal = f"{digest % 2**128:032x}" == page["digest"]
            if not is_equal and not since:
                raise RuntimeError("the digest of the space is not that of its records")
            state["revision"] = page["revision"] if is_equal else None


def main(path, command, *words):
    """Runs a command and prints its result, one record on a line."""
    words = [json.loads(word) if word[:1] in ("[", "{") else word for word in words]
    result = getattr(Replica(path), command)(*words)
    for item in result if isinstance(result, list) else filter(None, [result]):
        print(text(item))


if __name__ == "__main__":
    if len(sys.argv) < 3 or not hasattr(Replica, sys.argv[2]):
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except (OSError, ValueError, RuntimeError) as error:
        sys.exit(f"tandem_client: {error}")
