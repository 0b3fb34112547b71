"""Design spaces: what varies in an accelerator, over which values, under which constraints."""
