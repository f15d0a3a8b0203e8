"""Requests to Claude within the budget, if the user has set a key, and the use of the answers."""
