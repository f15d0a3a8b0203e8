"""Store what is worth knowing in later sessions, and keep out text that must not pass for it."""
