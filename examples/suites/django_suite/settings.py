"""Settings of the shop. `KAFKA` is what its tests override."""

from __future__ import annotations

SECRET_KEY = "of an example"
INSTALLED_APPS = ["shop"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "shop.sqlite3"}}
ROOT_URLCONF = "shop.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
KAFKA = {"bootstrap_servers": "kafka:9092"}
