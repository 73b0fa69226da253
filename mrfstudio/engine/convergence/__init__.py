"""Whether α-BP must converge, which messages oscillate, and maps of both."""
