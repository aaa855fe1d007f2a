"""The resources of the admin API, one module each; `application` puts them together."""

import mockbroker.admin.names  # noqa: F401 -- the paths of the modules here have its names
