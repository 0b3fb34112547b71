"""Fused mapping: steps of a network run tile by tile, with the tensors between them on chip."""
