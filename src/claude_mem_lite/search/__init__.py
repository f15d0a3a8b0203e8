"""Finding what is remembered."""
