"""Serve the routes on the unix socket, under uvicorn."""
