"""Stages that split networks, cost nodes and schedule them on several cores."""
