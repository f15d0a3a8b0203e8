"""Import past sessions: transcripts of Claude Code, Codex and Gemini, and the original claude-mem's data."""
