"""Findings on disk and their queries; nothing here imports torch."""
