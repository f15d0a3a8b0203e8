"""Resolve the calls of Python code by following values: what each name, attribute and result may stand for.

The code is never run. Each scope (a module, function or lambda; a class body belongs to the scope that it
stands in) is evaluated with *abstract values*: "an instance of class Journal", "the function post", "a list
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
   without anything that the solver has no use for. `terms` packs them to be stored, so that a
   file is parsed only when it has changed.
2. `modules` makes a `Unit` of each scope and a `Module` of each file (`values`), and finds modules by their
   import names (`imports`).
3. `solver` takes units from a `worklist`, at first all of them, imported modules before those that import
   them. Each is evaluated in a `Frame` (`frame`), statement by statement (`statements`).
4. What a scope shares with others goes through *cells*: one for each global, parameter, attribute and result.
   Evaluating `opened` finds that the global `Journal` is a class, notes the edge opened -> Journal, and
   writes "an instance of Journal" into the cell of its result. Evaluating `run` reads that cell, looks `post`
   up in the class, and notes the edge run -> Journal.post. Constants such as "rent" are written to no cell.
5. A cell knows its readers. They are evaluated again when it tells them news: values of the project, as long
   as it has not more than one of those, or the first that it has at all. Had `run` come before `opened`, it
   would have found nothing, and found the edge on its second run. What a scope wrote before is replaced by
   what it writes now. That ends, for values are bounded (24 to a set, containers three deep) and so are the
   runs of a scope (4).

6. What each evaluation read and left is recorded (`records`), if `modules` are to be renewed: after a change,
   all is played again, but only what the change reaches is evaluated.

Evaluation is a stack of modules, each using only those after it: `statements`; `definitions`; `expressions`;
then, on values alone, `bindings`; `calls`; `invocation`; `attributes`. `value_sets` combines values,
`external` lists what is known of names outside the project.

An edge says what it rests on (`Site` and LEVELS in `frame`): the name itself, a receiver whose class is
known, or one that came by an argument, which any caller may have passed.
"""
