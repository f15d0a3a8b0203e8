"""Code that several test modules and benchmarks share; no test lives here."""
