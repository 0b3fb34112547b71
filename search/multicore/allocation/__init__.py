"""The allocation of nodes to cores: genetic algorithm, constraint programming."""
