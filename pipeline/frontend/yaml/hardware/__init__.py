"""Reads accelerator descriptions: arrays, memories, cores, links."""
