from __future__ import annotations

import json
from functools import partial

from django.db import transaction
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from shop.events import publish
from shop.models import Order


@csrf_exempt
@require_POST
def place_order(request: HttpRequest) -> JsonResponse:
    asked = json.loads(request.body)
    with transaction.atomic():
        order = Order.objects.create(article=asked["article"], count=asked["count"])
        event = {"id": order.pk, "article": order.article, "count": order.count}
        transaction.on_commit(partial(publish, "orders", str(order.pk), event))
        if order.count > 100:
            raise ValueError("so many are not there")
    return JsonResponse(event, status=201)
