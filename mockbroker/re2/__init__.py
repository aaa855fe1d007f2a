"""Regular expressions that clients send: RE2's syntax, matched in linear time (com.google.re2j)."""
