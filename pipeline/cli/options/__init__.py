"""The options of each command as records; imports nothing heavy, so help is fast.

Annotations are evaluated at once, not kept as text: help needs all of them.
"""
