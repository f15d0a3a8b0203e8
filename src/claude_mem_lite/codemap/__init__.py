"""Map a project's code: its definitions, their changes and the calls between them.

`sources` reads the files that .gitignore does not exclude. `extract` describes Python files and `languages`
all others, which the consumer parses in a worker process (`isolation`). `project` finds calls: in Python
with `valueflow`, plus a match by name in `resolution` for calls left open; in other languages with `calls`.
`file_index` stores the map by file and `graph` by call; after a change, `renewal` resolves only the calls
that it can affect.
Observations confirm calls or let them go stale (`evidence`, `heal`, `confidence`). `answers` and `mermaid`
present the map.
"""
