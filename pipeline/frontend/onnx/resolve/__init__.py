"""Infers tensor shapes and replaces control flow and composite operators by the nodes that run."""
