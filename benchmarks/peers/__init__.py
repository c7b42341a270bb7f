"""The same work by other programs."""
