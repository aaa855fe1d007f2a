"""The resources of the admin API, one module each; `application` puts them together."""
