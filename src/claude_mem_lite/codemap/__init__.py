"""Map a project's code: what it defines, what changed, and who calls whom.

`sources` reads files, but for what .gitignore leaves out; `languages` describes them, `extract`
those of Python; the consumer has the others parsed by a process of their own (`isolation`). `project` finds
calls: in Python by `valueflow`, and by name in `resolution` for what that leaves open, in other languages by
`calls`. The map is stored by file (`file_index`) and by call (`graph`); after a change `renewal` resolves
what it can reach.
Observations confirm calls or let them go stale (`evidence`, `heal`, `confidence`). `answers` and `mermaid`
present the map.
"""
