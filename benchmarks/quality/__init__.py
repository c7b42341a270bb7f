"""What trained models get right."""
