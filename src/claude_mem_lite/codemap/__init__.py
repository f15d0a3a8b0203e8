"""What Python sources define and how it changes: pure `ast`; reading files and storage lie elsewhere."""
