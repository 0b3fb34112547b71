"""Mappings: what is unrolled in space, ordered in time, held by which memory."""
