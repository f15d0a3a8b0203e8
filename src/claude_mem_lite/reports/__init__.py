"""Reports: what happened in a time, gathered once and told as text, Markdown, JSON or a page."""
