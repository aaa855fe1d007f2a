"""The pytest plugin: `plugin` is its entry point and imports next to nothing by itself."""
