"""Clients of two servers that are killed: see scripts/soak-postgresql, which starts this."""

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
PG_CTL = sys.argv[5:] + ["-D", f"{FOLDER}/primary", "-l", f"{FOLDER}/primary.log", "-w"]
PORTS = [FIRST, FIRST + 1]
CLIENTS, SPACES, KILLS = 200, 64, 20
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

    def __init__(self, number):
        self.place, self.connection, self.refusals = number, None, 0

    def turn(self):
        if self.connection:
            self.connection.close()
        self.connection, self.place = None, self.place + 1

    def request(self, method, path, body=None):
        """Returns the status and the bytes of an answer that is no 503."""
        while True:
            try:
                if not self.connection:
                    self.connection = http.client.HTTPConnection("127.0.0.1", PORTS[self.place % 2], timeout=120)
                self.connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
                answer = self.connection.getresponse()
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
    def __init__(self, number, base):
        super().__init__(daemon=True)
        self.space, self.base = f"s{number % SPACES}", base
        self.connection = Connection(number)
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


def live_records(connection, space):
    records, cursor, path = [], None, f"/v1/spaces/{space}/changes"
    while True:
        page = connection.read("GET", path + (f"?cursor={cursor}" if cursor else ""))
        records += page["changes"]
        cursor = page.get("next")
        if not cursor:
            return records


def main():
    for node in nodes:
        node.start()
    connection = Connection(0)
    bases = []
    for space in range(SPACES):
        connection.read("POST", f"/v1/spaces/s{space}/tables", json.dumps(TABLES).encode())
        state = connection.read("GET", f"/v1/spaces/s{space}")
        body = json.dumps({
            "replica": secrets.token_hex(16), "sequence": 1, "commit": secrets.token_hex(16),
            "base": state["revision"],
            "changes": [{"table": "total", "id": ["all"], "insert": {"n": 0}}]}).encode()
        bases.append(connection.read("POST", f"/v1/spaces/s{space}/commits", body)["revision"])
    clients = [Client(number, bases[number % SPACES]) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    for kill in range(KILLS):
        end.wait(SECONDS / KILLS)
        if kill % 2 == 0:
            node = nodes[kill // 2 % 2]
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
    assert not failures, failures[:5]

    lost = doubled = 0
    for space in range(SPACES):
        records = live_records(connection, f"s{space}")
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
    count = sum(len(client.accepted) for client in clients)
    refusals = sum(client.connection.refusals for client in clients)
    repeats = sum(client.repeats for client in clients)
    print(f"{count} commits of {CLIENTS} clients in {SPACES} spaces, {KILLS} kills, {refusals} requests without an "
          f"answer, {repeats} repeats with the same bytes: {lost} lost, {doubled} doubled")
    assert lost == 0 and doubled == 0


nodes = [Node(port) for port in PORTS]
try:
    main()
finally:
    for node in nodes:
        if node.process and node.process.poll() is None:
            node.kill()
