"""Share what a user chooses of each project with colleagues, and keep what they share apart."""
