"""Connections that are closed after each test."""

from tests.llm.conftest import connections

__all__ = ["connections"]
