"""What several test modules and benchmarks share; no test lives here."""
