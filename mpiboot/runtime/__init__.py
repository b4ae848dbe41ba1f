"""Effects: processes, signals, files, sockets."""
