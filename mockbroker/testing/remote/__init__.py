"""A broker in another process or a container, over its admin API: `MockBroker.connect(url)`.

`broker.RemoteBroker` has the verbs of `MockBroker`; the views here are those of `testing`, each
done with requests of `admin.client.AdminClient`.
"""
