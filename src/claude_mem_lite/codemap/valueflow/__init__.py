"""Resolve the calls of Python code by following values: what each name, attribute and result may stand for.

The code is never run. Each scope (a module, function or lambda; a class body belongs to the scope around
it) is evaluated with *abstract values*: "an instance of class Journal", "the function post", "a list
of those". Take two files:

    # journal.py                             # main.py
    class Journal:                           from journal import Journal
        def post(self, line): ...
                                             def opened():
                                                 return Journal()

                                             def run():
                                                 book = opened()
                                                 book.post("rent")

1. `lowering` turns each file's syntax tree into terms (`terms`): scopes, their statements and expressions,
   without anything that the solver does not use. `terms` packs them for storage, so that a file is parsed
   only when it has changed.
2. `modules` makes a `Unit` of each scope and a `Module` of each file (`values`), and finds modules by their
   import names (`imports`).
3. `solver` takes units from a `worklist`, at first all of them, imported modules before those that import
   them. Each is evaluated in a `Frame` (`frame`), statement by statement (`statements`).
4. Scopes share values through *cells*: one for each global, parameter, attribute and result.
   Evaluating `opened` finds that the global `Journal` is a class, records the edge opened -> Journal, and
   writes "an instance of Journal" into the cell of its result. Evaluating `run` reads that cell, looks `post`
   up in the class, and records the edge run -> Journal.post. Constants such as "rent" are not written.
5. A cell knows its readers. They are evaluated again when it gains values of the project while it has at
   most one of those, or when it gains its first value at all. If `run` came before `opened`, it would find
   nothing at first, and the edge when it is evaluated again. A scope's new writes replace its earlier ones.
   This terminates, because values are bounded (24 to a set, containers three deep) and so are the
   evaluations of a scope (4).
6. If `modules` are to be renewed, `records` keeps what each evaluation read and wrote. After a change, the
   whole run is replayed, but only scopes that the change affects are evaluated.

Evaluation is a stack of modules, each using only those after it: `statements`; `definitions`; `expressions`;
then, on values alone, `bindings`; `calls`; `invocation`; `attributes`. `value_sets` combines values,
`external` lists what is known of names outside the project.

An edge names its evidence (`Site` and LEVELS in `frame`): the name itself, a receiver whose class is
known, or a receiver that came as an argument, which any caller may have passed.
"""
