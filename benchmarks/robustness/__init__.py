"""What breaks, is cut off or is hostile."""
