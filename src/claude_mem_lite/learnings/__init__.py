"""Keep what is worth knowing in later sessions, and keep out what must not pass for it."""
