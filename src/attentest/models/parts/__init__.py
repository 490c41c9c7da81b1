"""What networks are built of: encoders, attentions, heads, decoders, layers."""
