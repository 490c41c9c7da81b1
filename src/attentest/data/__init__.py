"""Text in: corpora, vocabularies, batches, vectors."""
