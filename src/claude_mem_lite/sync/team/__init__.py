"""Share chosen parts of each project with colleagues, and store what they share separately."""
