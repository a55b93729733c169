"""A pack that forgot its manifest."""
