"""Ask Claude, where the user has set a key: requests within the budget, and what becomes of the answers."""
