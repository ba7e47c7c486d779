#!/usr/bin/env python3
"""Writes digests.json: records, their deterministic CBOR (RFC 8949, section 4.2.1), and their hashes.

This is an implementation of its own, so that the vectors do not repeat a mistake of the Swift code. Another
implementation of the protocol must compute the same bytes.
"""
import hashlib
import json
import math
import pathlib
import struct


def head(major: int, argument: int) -> bytes:
    if argument < 24:
        return bytes([major << 5 | argument])
    for code, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if argument < 1 << 8 * size:
            return bytes([major << 5 | code]) + argument.to_bytes(size, "big")
    raise ValueError(argument)


def real(number: float) -> bytes:
    for code, form in ((0xF9, ">e"), (0xFA, ">f"), (0xFB, ">d")):
        try:
            packed = struct.pack(form, number)
        except OverflowError:
            continue
        if struct.unpack(form, packed)[0] == number:
            return bytes([code]) + packed
    raise ValueError(number)


def value(item) -> bytes:
    if item is None or isinstance(item, float) and math.isnan(item):
        return b"\xf6"
    if isinstance(item, int):
        return head(0, item) if item >= 0 else head(1, -1 - item)
    if isinstance(item, float):
        return real(item)
    if isinstance(item, str):
        return head(3, len(item.encode())) + item.encode()
    return head(2, len(item)) + item


def in_key(item):
    """A real that equals a 64-bit integer identifies the same row as that integer."""
    if isinstance(item, float) and item.is_integer() and -2**63 <= item < 2**63:
        return int(item)
    return item


def encoding(table: str, id: list, fields: dict) -> bytes:
    present = {name: item for name, item in fields.items() if value(item) != b"\xf6"}
    entries = sorted((value(name), value(item)) for name, item in present.items())
    return (
        head(4, 3) + value(table) + head(4, len(id)) + b"".join(value(in_key(item)) for item in id)
        + head(5, len(entries)) + b"".join(name + item for name, item in entries))


def hash_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def message(item):
    """A value as it stands in a message."""
    import base64
    if isinstance(item, bytes):
        return {"blob": base64.b64encode(item).decode()}
    if isinstance(item, float) and not math.isfinite(item):
        return {"real": "nan" if math.isnan(item) else "inf" if item > 0 else "-inf"}
    return item


records = {
    "no fields": ("note", [1], {}),
    "a key of two columns": ("part", ["a", 2], {"name": "bolt"}),
    "a blob as key": ("file", [bytes(range(4))], {"size": 4}),
    "a real that is an integer, as key": ("note", [1.0], {"title": "x"}),
    "the same integer as key": ("note", [1], {"title": "x"}),
    "a negative zero as key": ("note", [-0.0], {}),
    "a real beyond 64 bits as key": ("note", [2.0**63], {}),
    "a real that is not an integer, as key": ("note", [0.5], {}),
    "null and NaN are left out": ("note", [1], {"a": None, "b": math.nan, "title": "x"}),
    "fields in the order of their encodings": ("t", [1], {"bb": 1, "a": 2, "ab": 3, "é": 4, "": 5}),
    "integers": ("t", [0], {f"i{n}": number for n, number in enumerate(
        [0, 23, 24, 255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1,
         -1, -24, -25, -256, -257, -2**32 - 1, -2**63])}),
    "reals": ("t", [0], {f"r{n}": number for n, number in enumerate(
        [0.0, -0.0, 1.0, 1.5, 65504.0, 65505.0, 65536.0, 2.0**-14, 2.0**-24, 2.0**-25, 3 * 2.0**-24,
         (1 + 2**-10) * 2.0**-14, 0.1, 1e300, 5e-324, 3.4028234663852886e38, 3.5e38, 1.1, -4.1,
         math.inf, -math.inf, 100000.0, 5.960464477539063e-8, 0.00006103515625, 2.0**-149])}),
    "texts": ("t", [0], {"empty": "", "nul": "a\0b", "accents": "e\u0301é", "emoji": "🧭",
                          "long": "x" * 300}),
    "blobs": ("t", [0], {"empty": b"", "bytes": bytes(range(256))}),
    "a name with quotes": ('a "table"', ["k"], {'a "field"\n': 'a "value"\n'}),
}
vectors = []
for name, (table, id, fields) in records.items():
    data = encoding(table, id, fields)
    vectors.append({
        "name": name, "table": table, "id": [message(item) for item in id],
        "fields": {field: message(item) for field, item in fields.items()},
        "cbor": data.hex(), "hash": hash_of(data)})
total = sum(int(vector["hash"], 16) for vector in vectors) % 2**128
text = json.dumps({"records": vectors, "digest": f"{total:032x}"}, indent=1, ensure_ascii=False)
pathlib.Path(__file__).with_suffix(".json").write_text(text + "\n")
