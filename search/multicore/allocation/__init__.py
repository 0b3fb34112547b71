"""Allocates nodes to cores: genetic algorithm and constraint programming."""
