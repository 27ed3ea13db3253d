from tests.e2e.conftest import world

__all__ = ["world"]
