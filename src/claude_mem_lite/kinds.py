"""Define the kinds of rows in the memory, the types of search, and the categories of learnings."""

from __future__ import annotations

from typing import Literal, get_args

Kind = Literal["observation", "session", "learning", "function"]
KINDS: tuple[Kind, ...] = ("observation", "session", "learning", "function")

# The type of a search, which also decides the vectors that it needs.
Type = Literal["all", "observation", "session", "learning", "code"]

Category = Literal["architecture", "convention", "gotcha", "dependency", "pattern"]
CATEGORIES: tuple[Category, ...] = get_args(Category)
RULE: Category = "convention"  # how the user wants things done
