# Commands for contributors, in the environment that CONTRIBUTING.md sets up; `just` lists them.

default:
    @just --list

# Run every test.
test:
    .venv/bin/pytest -n 4 --dist worksteal

# Run the tests that start no process.
fast:
    .venv/bin/pytest -n 4 --dist worksteal -m "not process"

# Check style and types, as CI does.
lint:
    .ci/run lint

# Time the hooks.
bench:
    .venv/bin/python benchmarks/hooks.py

# Show the product on recorded sessions, in a temporary folder.
demo:
    .venv/bin/claude-mem demo
