"""Take secrets, private passages and ignored files out of hook events before anything is stored.

`events` is the entry point. `scanner` runs on every event (cheap substring searches) and calls the modules
that read one kind of place each: `tokens`, `names`, `logins`, `commands`, `keys`, `tables`, `prose`.
`weights` decides whether a value looks like a secret; `vocabulary` holds the words and limits they share.
"""
