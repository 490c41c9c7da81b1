"""Models that were trained to hide words, beside their honest twins, and what the verdict says of each."""
