"""Stages that split, cost and schedule networks on several cores."""
