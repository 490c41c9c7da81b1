"""How findings are read: the values that a challenge gives of its lines, figures, tables and columns. No torch."""
