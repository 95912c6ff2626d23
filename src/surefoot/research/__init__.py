"""The published tables, protocols and collections."""
