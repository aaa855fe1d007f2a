"""The Python API: a broker inside the test's own process, and what a test sees and does there.

`mock_broker.MockBroker` is what users import, as `mockbroker.MockBroker`. Its views (`topic`,
`group`) and verbs work from any thread; the core itself has none, so `bridge` carries each call
into the broker's event loop. `pytest_plugin` makes fixtures of it.
"""
