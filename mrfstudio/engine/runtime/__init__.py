"""What the engine runs on: device, memory, threads, jobs, interruption."""
