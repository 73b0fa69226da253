"""Every file that is read or written; every write is atomic."""
