"""What is worth knowing in later sessions: what states it, and what must not pass for it."""
