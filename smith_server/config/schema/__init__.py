"""Every setting with its type, its default and one sentence: the only place that knows them.

Defaults, checks, error texts, the reference and completion are made from this.
"""

from smith_server.config.schema.models import Providers, ProviderSettings
from smith_server.config.schema.safety import Approval
from smith_server.config.schema.settings import Settings

__all__ = ["Approval", "ProviderSettings", "Providers", "Settings"]
