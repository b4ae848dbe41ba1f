"""Values: what the user chose, who takes part, what was seen, how it ended."""
