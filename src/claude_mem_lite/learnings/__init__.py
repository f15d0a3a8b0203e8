"""What is worth knowing in later sessions: what states it, what it is about, and what must not pass for it."""
