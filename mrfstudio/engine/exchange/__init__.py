"""Factor graphs to and from other libraries; each is imported when it is first used."""
