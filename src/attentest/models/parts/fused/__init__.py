"""Kernels of our own for GPUs, where the library's launch one for every position."""
