"""Addresses of the local shop: the shop, its dashboard, nothing else."""

from __future__ import annotations

from django.apps import apps
from django.conf import settings
from django.urls import include, path
from django.views.static import serve

urlpatterns = [
    path("media/<path:path>", serve, {"document_root": settings.MEDIA_ROOT}),
    path("", include(apps.get_app_config("oscar").urls[0])),
]
