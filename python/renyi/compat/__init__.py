"""Plugs for other libraries."""
