"""Models of the Transformers library as subjects: attention read and overwritten, layer by layer, head by head."""
