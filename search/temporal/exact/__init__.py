"""Exact search: the best of all orders and allocations, with a proof."""
