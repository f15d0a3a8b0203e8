"""Define what `huey_consumer` starts: the Huey instance and its tasks."""
