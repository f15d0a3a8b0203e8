"""Take secrets, private passages and ignored files out of hook events before anything is stored.

`events` is the way in. A text passes `scanner` (cheap substring searches, on every event), then the modules
that read one kind of place each: `tokens`, `names`, `logins`, `commands`, `keys`, `tables`, `prose`.
`weights` tells whether a value looks like a secret, and `vocabulary` holds what all of them share.
"""
