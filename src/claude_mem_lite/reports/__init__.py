"""Report what happened in a period: gathered once, written as text, Markdown, JSON or a page."""
