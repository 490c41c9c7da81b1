"""From findings to words, tables, pictures and a page; nothing here imports torch."""
