"""Tables: columns and cells with text and exact value, for every renderer."""
