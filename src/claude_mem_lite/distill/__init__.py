"""From captured events to observations and summaries: by rules, or by Claude where a key is set."""
