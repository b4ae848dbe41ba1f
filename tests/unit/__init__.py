"""Pure tests: no process, no socket, no file."""
