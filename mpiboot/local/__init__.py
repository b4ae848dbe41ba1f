"""Pods on this machine, made of namespaces."""
