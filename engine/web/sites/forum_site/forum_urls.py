"""URLs of the local forum."""

from __future__ import annotations

import spirit.urls
from django.urls import include, path

urlpatterns = [path("", include(spirit.urls))]
