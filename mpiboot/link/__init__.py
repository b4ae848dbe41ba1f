"""The lease: one authenticated SSH connection between launcher and worker."""
