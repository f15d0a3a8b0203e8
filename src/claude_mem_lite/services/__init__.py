"""Install, start, watch and stop the two background programs."""
