"""`python -m claude_mem_lite.cli`, as the hooks start it."""

from claude_mem_lite.cli import main

main()
