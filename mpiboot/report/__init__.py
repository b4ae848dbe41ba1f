"""What the outside sees: status file, termination message, metrics."""
