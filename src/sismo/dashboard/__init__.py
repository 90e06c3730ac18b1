"""A run and its verdict as one page that opens from disk: ``render`` in ``page``. It is handed a PostMortem and computes none."""
