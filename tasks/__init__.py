"""The Huey instance and the tasks that `huey_consumer` runs."""
