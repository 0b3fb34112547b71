"""Recorded results of the reference, and whether nestmap reproduces them."""
