"""Settings that are checked but that nothing reads yet. Whoever builds the feature takes its line out."""

NO_EFFECT_YET = frozenset(
    {
        "approval.allow",
        "approval.allowlist",
        "approval.ask",
        "approval.protected",
        "checkpoints",
        "defaults.mode",
        "editor.review",
        "hooks",
        "llm_config.recv_timeout",
        "mcp",
        "mentions",
        "sandbox",
        "services.command",
        "services.config",
        "services.conversation",
        "services.dispatch",
        "services.persistence",
        "services.prompt",
        "services.role",
        "services.ui",
        "terminal.keys",
        "terminal.theme",
    }
)
"""A setting by its dotted path, or a table for everything in it; `*` stands for one name."""
