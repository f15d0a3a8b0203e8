"""The upkeep of the memory: what is kept how long, forgotten, taken along, and put in order again."""
