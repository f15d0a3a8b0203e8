"""Run the command line as `python -m claude_mem_lite.cli`, as the hooks do."""

from claude_mem_lite.cli import main

main()
