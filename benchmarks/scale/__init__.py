"""Memory, cores, ranks and machines."""
