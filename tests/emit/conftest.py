"""Jaxprs of this folder's tests are traced by jax with 64-bit types."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import pytest


@pytest.fixture(autouse=True)
def _sixty_four_bits() -> Iterator[None]:
    with jax.enable_x64(True):
        yield
