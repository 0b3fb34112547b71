"""Tables with texts and exact values, independent of the renderer."""
