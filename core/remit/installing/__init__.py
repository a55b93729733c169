"""The safe way in and out: packs and what they need are fetched as wheels, inspected, then installed as inspected."""
