"""Laws that hold for every layer, machine and mapping."""
