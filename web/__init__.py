"""What uvicorn starts: the routes on the unix socket."""
