"""How well the memory does, measured on what is remembered itself."""
