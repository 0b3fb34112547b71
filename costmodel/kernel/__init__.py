"""Compilation, records and work space of the kernels."""
