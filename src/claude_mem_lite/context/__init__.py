"""The block that a session is given of what came before it."""
