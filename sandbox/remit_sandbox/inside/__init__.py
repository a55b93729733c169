"""What runs inside a cell: the serving loop, schemas, conversion, invocation and results."""
