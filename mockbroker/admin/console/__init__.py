"""The console: a page of plain JavaScript modules over the admin API, as files of the wheel.

`static` holds what the browser loads, `assets` hands it out, `page` puts it all into one file for
the report of a failed test. There is no build step: what stands in `static` is what runs.
"""
