"""Draws sweeps: fronts, parameters, parallel coordinates, what parameters are worth."""
