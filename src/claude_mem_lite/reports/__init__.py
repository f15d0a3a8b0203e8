"""Report what happened in a period: gather data once, write it as text, Markdown, JSON or a page."""
