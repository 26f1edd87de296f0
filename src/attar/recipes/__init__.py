"""Recipes that come with attar: default.toml holds every setting."""
