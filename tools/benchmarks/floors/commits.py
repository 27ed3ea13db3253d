"""The floor of row 16: one row after the other, each a commit of its own (WAL, NORMAL)."""

import json
import sys
import time

import apsw

path, count = sys.argv[1], int(sys.argv[2])
connection = apsw.Connection(path)
connection.pragma("journal_mode", "wal")
connection.pragma("synchronous", "normal")
connection.execute("CREATE TABLE IF NOT EXISTS event (id INTEGER PRIMARY KEY, body BLOB)")
began = time.monotonic()
for _ in range(count):
    connection.execute("INSERT INTO event (body) VALUES (?)", (b"x" * 100,))
print(json.dumps({"per_second": count / (time.monotonic() - began)}))
