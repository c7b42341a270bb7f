"""Time and size of training, decoding, reading and installing."""
