"""Map a project's Python code: what it defines, who calls whom, and what changed.

`sources` reads files, `extract` and `diff` describe them. `project` finds their calls: by `valueflow`, and by
`name_matching` for what that leaves open. The map is stored by file (`file_index`) and by call (`graph`).
Observations confirm calls or let them go stale (`evidence`, `heal`, `confidence`). `answers` and `mermaid`
present the map.
"""
