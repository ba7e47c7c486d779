#!/usr/bin/env python3
"""Checks tandem_client.py against the vectors of the protocol: check_vectors.py Tests/Vectors"""
import json, pathlib, sys
from tandem_client import encoding, record_hash, text

folder = pathlib.Path(sys.argv[1])
vectors = json.loads((folder / "digests.json").read_text())
total = 0
for vector in vectors["records"]:
    record = vector["table"], vector["id"], vector["fields"]
    assert encoding(*record).hex() == vector["cbor"], vector["name"]
    assert f"{record_hash(*record):032x}" == vector["hash"], vector["name"]
    total = (total + int(vector["hash"], 16)) % 2**128
assert f"{total:032x}" == vectors["digest"]
messages = json.loads((folder / "messages.json").read_text())["valid"]
for message in messages:
    assert text(json.loads(message["text"])) == message["text"], message["name"]
print(f"{len(vectors['records']) + len(messages)} vectors agree")
