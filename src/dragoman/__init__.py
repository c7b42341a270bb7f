"""Dragoman: the trainer for sequence-to-sequence models you own."""

__version__ = "0.1.0"
