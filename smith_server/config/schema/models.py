"""Settings of model servers: which one, how it is reached, what it costs."""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta

from smith_server.config.schema.field import (
    ABSENT,
    GLOBAL,
    LOWER,
    MODEL,
    MOST,
    NEVER,
    SECRET,
    Count,
    Line,
    Name,
    Pauses,
    Positive,
    Seconds,
    Table,
    about,
    only,
)

Provider = Literal["", "openrouter", "openai", "anthropic", "ollama", "local", "custom", "scripted"]
AnthropicEffort = Literal["low", "medium", "high", "xhigh", "max"]
OpenAiEffort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]


class Defaults(Table, frozen=True, kw_only=True):
    """What a run starts with."""

    provider: Annotated[Provider, about("Which provider to use; empty: the first that is usable.")] = ""
    stream: Annotated[bool, about("Show the answer while it is written.")] = True
    mode: Annotated[
        Literal["normal", "plan"], about("`plan`: look and propose, change nothing until you agree.", only("plan"))
    ] = "normal"
    thinking: Annotated[bool, about("Let Anthropic's models think before they answer.", only(False))] = False


class LlmConfig(Table, frozen=True, kw_only=True):
    """The provider `custom`, and time limits and retries for all."""

    api_url: Annotated[Name, about("Base address of an OpenAI-compatible server, with its `/v1`.")] = ""
    api_key_env: Annotated[Name, about("Variable that holds the key of `api_url`.", NEVER)] = "LLM_API_KEY"
    model: Annotated[Name, about("Model of `api_url`; another spelling of `providers.custom.model`.", MODEL)] = ""
    timeout: Annotated[Seconds, about("Seconds for a whole answer that is not streamed.", LOWER, ABSENT)] = 600
    connect_timeout: Annotated[Seconds, about("Seconds to reach the server.", LOWER, ABSENT)] = 10
    send_timeout: Annotated[Seconds, about("Seconds to send a request.", LOWER, ABSENT)] = 30
    recv_timeout: Annotated[
        Seconds,
        about("Seconds of one wait for data while streaming; when they are over the wait goes on.", LOWER, ABSENT),
    ] = 0.5
    stream_stall_timeout: Annotated[
        Seconds, about("Seconds without data after which a streamed answer counts as broken off.", LOWER, ABSENT)
    ] = 300
    retry_max_retries: Annotated[Count, about("How often a request that failed on the way is repeated.", LOWER)] = 2
    retry_backoff_ms: Annotated[
        Pauses,
        about(
            "Least pauses before each repetition in milliseconds, up to a quarter longer by chance; the last one "
            "serves for all further ones."
        ),
    ] = (2000, 8000)
    stream_retry_after_output: Annotated[
        bool, about("Repeat a request also when a part of its answer was shown already.", only(False))
    ] = False


class ModelSettings(Table, frozen=True, kw_only=True):
    """One model of a provider; what is set here goes before what is set for the provider."""

    temperature: Annotated[float, about("Sampling temperature.", ge=0, le=2)] | None = None
    max_output_tokens: Annotated[Positive, about("Upper bound of one answer in tokens.", LOWER)] | None = None


class ProviderSettings(Table, frozen=True, kw_only=True):
    """One provider."""

    model: Annotated[Name, about("Model to use with this provider.", MODEL)] = ""
    base_url: Annotated[Name, about("Address to use instead of the provider's own.")] = ""
    headers: Annotated[Mapping[Name, str], about("More request headers, by name.", SECRET)] = {}
    temperature: Annotated[float, about("Sampling temperature.", ge=0, le=2)] | None = None
    max_output_tokens: Annotated[Positive, about("Upper bound of one answer in tokens.", LOWER)] | None = None
    models: Annotated[Mapping[Name, ModelSettings], about("Settings of single models, by the model's name.")] = {}
    api_key_command: Annotated[
        Line, about("Shell command that prints the key; in the global file only.", NEVER, SECRET, GLOBAL)
    ] = ""


class Anthropic(ProviderSettings, frozen=True, kw_only=True):
    """Anthropic's own provider settings."""

    cache: Annotated[bool, about("Let the provider keep the beginning of the conversation.")] = True
    thinking_effort: Annotated[AnthropicEffort, about("How long the model thinks.")] = "medium"
    thinking_budget: (
        Annotated[int, about("Tokens to think with, for models that want a number.", LOWER, ge=1024, le=MOST)] | None
    ) = None


class Reasoning(ProviderSettings, frozen=True, kw_only=True):
    """A provider with models that reason before they answer."""

    reasoning_effort: Annotated[OpenAiEffort, about("How long the model thinks; `none` sends nothing.")] = "none"


class Ollama(Reasoning, frozen=True, kw_only=True):
    """Ollama's own provider settings."""

    host: Annotated[
        Name, about("Where Ollama listens, as `OLLAMA_HOST` spells it; that and `base_url` go before it.")
    ] = "http://localhost:11434"


class Providers(Table, frozen=True, kw_only=True):
    """Settings by provider."""

    openrouter: Reasoning = Reasoning()
    openai: Reasoning = Reasoning()
    anthropic: Anthropic = Anthropic()
    ollama: Ollama = Ollama()
    local: ProviderSettings = ProviderSettings()
    custom: Reasoning = Reasoning()
    scripted: ProviderSettings = ProviderSettings()


Money = Annotated[float, Meta(ge=0, le=MOST)]


class Price(Table, frozen=True, kw_only=True):
    """What a model costs, in US dollars per million tokens; an entry needs `input` and `output`."""

    input: Annotated[Money, about("Price of what is sent.")] | None = None
    output: Annotated[Money, about("Price of what is answered.")] | None = None
    cache_write: Annotated[Money, about("Price of what is put into the cache; else 1.25 times `input`.")] | None = None
    cache_read: Annotated[Money, about("Price of what is read from the cache; else a tenth of `input`.")] | None = None
