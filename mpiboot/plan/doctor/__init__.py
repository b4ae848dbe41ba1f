"""What was looked at in a container → findings with their remedies; a module for each group of topics."""
