"""Blocks as lines: one file for each kind.

Each file has `plain`, the whole block as it stands in a transcript and in every other face, and
`rows`, what the terminal shows of it.
"""
