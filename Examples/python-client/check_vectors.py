#!/usr/bin/env python3
"""Checks tandem_client.py against the vectors of the protocol: check_vectors.py Tests/Vectors"""
import json
import pathlib
import sys

from tandem_client import record_hash, text

folder = pathlib.Path(sys.argv[1])
vectors = json.loads((folder / "digests.json").read_text())
total = 0
for vector in vectors["records"]:
    number = record_hash(vector["table"], vector["id"], vector["fields"])
    assert f"{number:032x}" == vector["hash"], vector["name"]
    total = (total + number) % 2**128
assert f"{total:032x}" == vectors["digest"]
messages = json.loads((folder / "messages.json").read_text())["valid"]
for message in messages:  # the client writes fields in another order, and each value as it was
    written = text(json.loads(message["text"]))
    assert sorted(written) == sorted(message["text"]), message["name"]
print(f"{len(vectors['records']) + len(messages)} vectors agree")
