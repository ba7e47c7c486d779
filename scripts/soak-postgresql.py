"""Clients of three servers that are killed: see scripts/soak-postgresql, which starts this."""

import http.client
import json
import os
import random
import secrets
import signal
import subprocess
import sys
import threading
import time

TOOL, FOLDER, SECONDS, FIRST = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
USER, PROGRAMS = sys.argv[6:], sys.argv[5]
PG_CTL = USER + [f"{PROGRAMS}/pg_ctl", "-D", f"{FOLDER}/primary", "-l", f"{FOLDER}/primary.log", "-w"]
PORTS = [FIRST, FIRST + 1, FIRST + 2]
CLIENTS, SPACES, KILLS = 200, 64, 20
# One more space: two writers at each server, whose transactions roll back as they commit, 5 % of them, and readers that
# check the order of what they see.
ORDERED, WRITERS, PAGE_READERS = f"s{SPACES}", 6, 3
ROLLED_BACK = "rolled back by the soak"
TRIGGER = f"""
    CREATE FUNCTION soak() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF random() < 0.05 THEN RAISE '{ROLLED_BACK}' USING ERRCODE = '40001'; END IF;
      RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER soak AFTER INSERT ON tandem.history DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
      WHEN (new.space = (%d)) EXECUTE FUNCTION soak()"""
TABLES = [
    {"name": "row", "key": ["id"], "columns": ["n"], "granularity": "field"},
    {"name": "total", "key": ["id"], "columns": ["n"], "granularity": "field"},
]
end = threading.Event()
failures = []


class Node:
    """A server that is started again after each kill."""

    def __init__(self, port):
        self.port, self.process = port, None
        self.log = open(f"{FOLDER}/node{port}.log", "a")

    def start(self):
        """Starts it until it serves: it does not without PostgreSQL."""
        while True:
            self.process = subprocess.Popen(
                [TOOL, "serve", "--json", "--store", f"host={FOLDER} user=tandem dbname=postgres", "--create-store",
                 "--listen", f"127.0.0.1:{self.port}"], stdout=subprocess.PIPE, stderr=self.log)
            if self.process.stdout.readline():
                return
            self.process.wait()
            time.sleep(0.2)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


class Connection:
    """Requests to one server after the other, until one answers."""

    def __init__(self, number, ports=PORTS):
        self.place, self.ports, self.connection, self.refusals = number, ports, None, 0

    def turn(self):
        if self.connection:
            self.connection.close()
        self.connection, self.place = None, self.place + 1

    def send(self, method, path, body=None):
        if not self.connection:
            port = self.ports[self.place % len(self.ports)]
            self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        return self.connection.getresponse()

    def request(self, method, path, body=None):
        """Returns the status and the bytes of an answer that is no 503."""
        while True:
            try:
                answer = self.send(method, path, body)
                data = answer.read()
                if answer.status < 500 and answer.status != 429:
                    return answer.status, data
            except (OSError, http.client.HTTPException):
                pass
            self.refusals += 1
            self.turn()
            time.sleep(random.uniform(0.05, 0.3))

    def read(self, method, path, body=None):
        status, data = self.request(method, path, body)
        assert status == 200, (path, status, data)
        return json.loads(data)


class Client(threading.Thread):
    def __init__(self, space, base, connection):
        super().__init__(daemon=True)
        self.space, self.base, self.connection = space, base, connection
        self.replica = secrets.token_hex(16)
        self.accepted, self.repeats = [], 0

    def run(self):
        try:
            sequence = 0
            while not end.is_set():
                sequence += 1
                self.commit(sequence)
        except Exception as error:
            failures.append(f"{self.space}: {error!r}")

    def commit(self, sequence):
        identity = secrets.token_hex(16)
        body = json.dumps({
            "replica": self.replica, "sequence": sequence, "commit": identity, "base": self.base, "changes": [
                {"table": "row", "id": [identity], "insert": {"n": sequence}},
                {"table": "total", "id": ["all"], "add": {"n": 1}}]}).encode()
        path = f"/v1/spaces/{self.space}/commits"
        status, first = self.connection.request("POST", path, body)
        assert status == 200, first
        self.base = json.loads(first)["revision"]
        self.accepted.append(identity)
        if random.random() < 0.3:
            self.connection.turn()
            again = self.connection.request("POST", path, body)
            assert again == (200, first), (first, again)
            self.repeats += 1


class Reader(threading.Thread):
    """Sees each version of a space once and in order, up to `last`. A kind of reader overrides `read`."""

    last = None

    def __init__(self, base, connection):
        super().__init__(daemon=True)
        self.base, self.connection, self.count = base, connection, 0

    def run(self):
        try:
            while self.base != Reader.last:
                self.read()
        except Exception as error:
            failures.append(f"{type(self).__name__}: {error!r}")

    def note(self, changes, revision):
        """Each commit inserts one row, so that a row is missing, or comes late, if a version does."""
        seen = [change["version"] for change in changes if change["table"] == "row"]
        assert seen == list(range(version(self.base) + 1, version(revision) + 1)), (self.base, revision, seen)
        self.base, self.count = revision, self.count + len(seen)

    def pull(self):
        self.note(*changes_of(self.connection, ORDERED, self.base))


class PageReader(Reader):
    """Pulls from one server after the other: none is behind what another one has shown."""

    def read(self):
        self.pull()
        self.connection.turn()


class StreamReader(Reader):
    """Follows the event stream of one server; pulls at the begin, and after an event that does not follow its state."""

    def __init__(self, base, port):
        super().__init__(base, Connection(0, [port]))
        self.stream, self.events = Connection(0, [port]), 0

    def read(self):
        self.pull()
        try:
            answer, event = self.stream.send("GET", f"/v1/spaces/{ORDERED}/events?since={self.base}"), None
            while answer.status == 200 and self.base != Reader.last and (line := answer.readline()):
                name, _, value = line.decode().strip().partition(":")
                if name == "event":
                    event = value
                elif name == "data":
                    self.hear(event, json.loads(value))
        except (OSError, http.client.HTTPException):
            pass
        self.stream.turn()

    def hear(self, event, data):
        if event == "commit" and data["from"] == self.base:
            self.note(data["changes"], data["revision"])
            self.events += 1
        elif version(data["revision"]) > version(self.base):
            self.pull()


def version(revision):
    return int(revision.split(".")[1])


def changes_of(connection, space, since=None):
    """Returns the changes after a revision, or all live records, and the revision that they lead to."""
    changes, path = [], f"/v1/spaces/{space}/changes?"
    query = f"since={since}" if since else ""
    while True:
        page = connection.read("GET", path + query)
        changes += page["changes"]
        if not page.get("next"):
            return changes, page["revision"]
        query = f"cursor={page['next']}"


def sql(text):
    psql = [f"{PROGRAMS}/psql", "-X", "-qtA", "-v", "ON_ERROR_STOP=1", "-h", FOLDER, "-U", "tandem", "-d", "postgres"]
    return subprocess.run(USER + psql + ["-c", text], check=True, stdout=subprocess.PIPE).stdout.decode().strip()


def main():
    for node in nodes:
        node.start()
    connection = Connection(0)
    bases = []
    for space in range(SPACES + 1):
        connection.read("POST", f"/v1/spaces/s{space}/tables", json.dumps(TABLES).encode())
        state = connection.read("GET", f"/v1/spaces/s{space}")
        body = json.dumps({
            "replica": secrets.token_hex(16), "sequence": 1, "commit": secrets.token_hex(16),
            "base": state["revision"],
            "changes": [{"table": "total", "id": ["all"], "insert": {"n": 0}}]}).encode()
        bases.append(connection.read("POST", f"/v1/spaces/s{space}/commits", body)["revision"])
    sql(TRIGGER % int(sql(f"SELECT space FROM tandem.name WHERE name = '{ORDERED}'")))
    clients = [Client(f"s{number % SPACES}", bases[number % SPACES], Connection(number)) for number in range(CLIENTS)]
    # A writer keeps to its server.
    clients += [Client(ORDERED, bases[SPACES], Connection(number, [PORTS[number % 3]])) for number in range(WRITERS)]
    readers = [PageReader(bases[SPACES], Connection(number)) for number in range(PAGE_READERS)]
    readers += [StreamReader(bases[SPACES], port) for port in PORTS]
    for thread in clients + readers:
        thread.start()
    for kill in range(KILLS):
        end.wait(SECONDS / KILLS)
        if kill % 2 == 0:
            node = nodes[kill // 2 % len(nodes)]
            node.kill()
            node.start()
        else:
            if kill % 4 == 1:
                with open(f"{FOLDER}/primary/postmaster.pid") as file:
                    os.kill(int(file.readline()), signal.SIGKILL)
            else:
                subprocess.run(PG_CTL + ["-m", "immediate", "stop"], check=True, stdout=subprocess.DEVNULL)
            # Its processes end when they notice.
            while subprocess.run(PG_CTL + ["start"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
                time.sleep(0.2)
        if failures:
            break
    end.set()
    for client in clients:
        client.join(timeout=180)
        if client.is_alive():
            failures.append(f"{client.space}: a client does not end")
    Reader.last = connection.read("GET", f"/v1/spaces/{ORDERED}")["revision"]
    for reader in readers:
        reader.join(timeout=60)
        if reader.is_alive():
            failures.append(f"{type(reader).__name__} is at {reader.base}, not at {Reader.last}")
    assert not failures, failures[:5]

    lost = doubled = 0
    for space in range(SPACES + 1):
        records, _ = changes_of(connection, f"s{space}")
        rows = [record["id"][0] for record in records if record["table"] == "row"]
        total = [record["fields"]["n"] for record in records if record["table"] == "total"]
        accepted = {commit for client in clients if client.space == f"s{space}" for commit in client.accepted}
        lost += len(accepted - set(rows))
        # Each commit has one version, one row and one addition.
        assert len(rows) == len(set(rows)) and set(rows) <= accepted, f"s{space}: rows that nobody committed"
        versions = sorted(record["version"] for record in records if record["table"] == "row")
        assert versions == list(range(2, len(versions) + 2)), f"s{space}: versions with gaps"
        doubled += total[0] - len(rows)
    for node in nodes:
        node.process.terminate()
        assert node.process.wait() == 0
    writers = clients[CLIENTS:]
    written, count = (sum(len(client.accepted) for client in some) for some in (writers, clients))
    with open(f"{FOLDER}/primary.log") as file:
        rolled_back = sum(f"ERROR:  {ROLLED_BACK}" in line for line in file)
    assert rolled_back > 0 and all(reader.count == written for reader in readers)
    events = sum(reader.events for reader in readers[PAGE_READERS:])
    assert events > 0
    refusals = sum(client.connection.refusals for client in clients)
    repeats = sum(client.repeats for client in clients)
    print(f"{count} commits of {len(clients)} clients in {SPACES + 1} spaces, {KILLS} kills, {refusals} requests "
          f"without an answer, {repeats} repeats with the same bytes: {lost} lost, {doubled} doubled")
    print(f"{written} of them by {WRITERS} writers to one space, {rolled_back} transactions rolled back: {len(readers)} "
          f"readers, three of them of event streams ({events} events), saw each version once, and in order")
    assert lost == 0 and doubled == 0


nodes = [Node(port) for port in PORTS]
try:
    main()
finally:
    for node in nodes:
        if node.process and node.process.poll() is None:
            node.kill()
