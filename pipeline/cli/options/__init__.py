"""The options of the commands, as records; nothing heavy is imported here, so help is fast.

Annotations are evaluated at once, not kept as text: help needs all of them.
"""
