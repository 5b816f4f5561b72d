"""The page of one clustering."""
