"""Every setting with its type, its default and one sentence: the only place that knows them.

Defaults, checks, error texts and the reference are made from this. A field whose `Meta` carries
`narrow` may be set by a project file without asking, if the new value is the narrower one:
`lower` means a smaller number, any other text means exactly that value.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

Name = Annotated[str, Meta(min_length=1)]
Seconds = Annotated[float, Meta(gt=0)]


class Defaults(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a run starts with."""

    provider: Annotated[
        Literal["", "openrouter", "openai", "ollama", "custom", "scripted"],
        Meta(description="Which provider to use; empty: the first that is usable."),
    ] = ""
    stream: Annotated[bool, Meta(description="Show the answer while it is written.")] = True


class LlmConfig(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The provider `custom`, and time limits for all."""

    api_url: Annotated[str, Meta(description="Base address of an OpenAI-compatible server, with its `/v1`.")] = ""
    api_key_env: Annotated[Name, Meta(description="Variable that holds the key of `api_url`.")] = "LLM_API_KEY"
    model: Annotated[str, Meta(description="Model of `api_url`.")] = ""
    timeout: Annotated[Seconds, Meta(description="Seconds for a whole answer that is not streamed.")] = 600
    connect_timeout: Annotated[Seconds, Meta(description="Seconds to reach the server.")] = 10
    send_timeout: Annotated[Seconds, Meta(description="Seconds to send a request.")] = 30
    stream_stall_timeout: Annotated[
        Seconds, Meta(description="Seconds without data after which a streamed answer counts as broken off.")
    ] = 300


class ProviderSettings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One provider."""

    model: Annotated[str, Meta(description="Model to use with this provider.")] = ""
    base_url: Annotated[str, Meta(description="Address to use instead of the provider's own.")] = ""
    headers: Annotated[dict[str, str], Meta(description="More request headers.")] = {}
    temperature: Annotated[float, Meta(ge=0, le=2, description="Sampling temperature.")] | None = None
    max_output_tokens: Annotated[int, Meta(ge=1, description="Upper bound of one answer.")] | None = None


class Providers(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Settings by provider."""

    openrouter: ProviderSettings = ProviderSettings()
    openai: ProviderSettings = ProviderSettings()
    ollama: ProviderSettings = ProviderSettings()
    custom: ProviderSettings = ProviderSettings()
    scripted: ProviderSettings = ProviderSettings()


class Approval(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who decides about a call."""

    mode: Annotated[
        Literal["prompt", "auto"],
        Meta(
            description="`prompt` asks before every call that changes something; `auto` runs everything.",
            extra={"narrow": "prompt"},
        ),
    ] = "prompt"


class EditorSettings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How edits and open buffers go together."""

    rebase: Annotated[
        bool, Meta(description="Carry an edit over when you changed other lines of the file meanwhile.")
    ] = False
    save_before_run: Annotated[
        Literal["agent", "ask", "never"],
        Meta(
            description="Before a command: save buffers that hold only edits of the agent, ask for each, or save none.",
            extra={"narrow": "never"},
        ),
    ] = "agent"


class BashSettings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Shell commands."""

    timeout: Annotated[
        Seconds, Meta(le=3600, description="Seconds that a command may take.", extra={"narrow": "lower"})
    ] = 120
    max_output_bytes: Annotated[
        int, Meta(ge=1024, le=1 << 28, description="Bytes of output that are kept.", extra={"narrow": "lower"})
    ] = 262144


class Settings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All settings, as one turn sees them."""

    default_model: Annotated[str, Meta(description="Model for every role and provider.")] = ""
    models: Annotated[dict[Name, Name], Meta(description="Model by role, or `default`.")] = {}
    max_requests: Annotated[
        int, Meta(ge=1, description="Requests to the model that one prompt may cause.", extra={"narrow": "lower"})
    ] = 500
    defaults: Defaults = Defaults()
    llm_config: LlmConfig = LlmConfig()
    providers: Providers = Providers()
    approval: Approval = Approval()
    editor: EditorSettings = EditorSettings()
    bash: BashSettings = BashSettings()
