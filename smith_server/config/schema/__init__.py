"""Every setting with its type, its default and one sentence: the only place that knows them.

Defaults, checks, error texts, the reference and completion are made from this.
"""

from smith_server.config.schema.agent import ContextManagement, Services, Subagents, ToolService, WebSearch
from smith_server.config.schema.faces import Editor, Terminal
from smith_server.config.schema.models import (
    Defaults,
    LlmConfig,
    ModelSettings,
    Price,
    Providers,
    ProviderSettings,
    Reasoning,
)
from smith_server.config.schema.safety import Approval, Hook, Hooks, Sandbox
from smith_server.config.schema.settings import Settings
from smith_server.config.schema.tools import Bash, Checkpoints, Mcp, Mentions, Web

__all__ = [
    "Approval",
    "Bash",
    "Checkpoints",
    "ContextManagement",
    "Defaults",
    "Editor",
    "Hook",
    "Hooks",
    "LlmConfig",
    "Mcp",
    "Mentions",
    "ModelSettings",
    "Price",
    "ProviderSettings",
    "Providers",
    "Reasoning",
    "Sandbox",
    "Services",
    "Settings",
    "Subagents",
    "Terminal",
    "ToolService",
    "Web",
    "WebSearch",
]
