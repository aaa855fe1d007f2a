from __future__ import annotations

from django.db import models


class Order(models.Model):
    article = models.CharField(max_length=80)
    count = models.PositiveIntegerField()
