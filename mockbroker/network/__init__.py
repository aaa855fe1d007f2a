"""The asyncio shell: sockets, one timer, back-pressure. All behaviour is in the core."""
