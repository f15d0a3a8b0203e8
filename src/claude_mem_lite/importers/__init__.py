"""Claude Code's own transcripts, read as the events that its hooks would have sent, and taken into memory."""
