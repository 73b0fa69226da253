"""Sessions as files: one zip of JSON and arrays, and the journal between two saves."""
