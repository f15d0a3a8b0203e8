"""Map a project's code: what it defines, what changed, and who calls whom in Python.

`sources` reads files, but for what `gitignore` leaves out; `languages` and `diff` describe them. `project`
finds calls: by `valueflow`, and by `name_matching` for what that leaves open. The map is stored by file
(`file_index`) and by call (`graph`).
Observations confirm calls or let them go stale (`evidence`, `heal`, `confidence`). `answers` and `mermaid`
present the map.
"""
