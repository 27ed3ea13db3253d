"""Settings of tools: commands, the web, mentions, checkpoints, tool servers."""

from typing import Annotated, Literal

from smith_server.config.schema.field import LOWER, MOST, NEVER, Name, Positive, Seconds, Table, about, only


class Bash(Table, frozen=True, kw_only=True):
    """Shell commands."""

    timeout: Annotated[
        float, about("Seconds after which a command goes on in the background.", LOWER, gt=0, le=3600)
    ] = 120
    max_background_jobs: Annotated[int, about("Commands that run in the background at once.", LOWER, ge=1, le=1000)] = (
        10
    )
    max_output_bytes: Annotated[
        int, about("Bytes that are kept of the output of one command.", LOWER, ge=1024, le=1 << 28)
    ] = 262144
    allowed_keys: Annotated[
        tuple[Name, ...], about("Variables with keys that commands may see all the same.", NEVER)
    ] = ()


class Web(Table, frozen=True, kw_only=True):
    """Searching and fetching."""

    allow_private: Annotated[
        bool, about("Fetch from private and local addresses too, and without TLS.", only(False))
    ] = False
    max_bytes: Annotated[int, about("Bytes of a page that the model gets.", LOWER, ge=1, le=1 << 28)] = 262144
    search_provider: Annotated[
        Literal["auto", "none", "linkup", "brave", "tavily", "searxng"],
        about("Who searches; `auto`: the first that has a key or a host.", only("none")),
    ] = "auto"
    searxng_host: Annotated[Name, about("Address of a SearXNG server.")] = ""


class Mentions(Table, frozen=True, kw_only=True):
    """Files named with `@` in a prompt."""

    max_lines: Annotated[Positive, about("Lines that are taken of one file.", LOWER)] = 2000
    max_total_bytes: Annotated[Positive, about("Bytes that one prompt takes in all.", LOWER)] = 262144
    allow_outside: Annotated[bool, about("Take files outside the project too.", only(False))] = False


class Checkpoints(Table, frozen=True, kw_only=True):
    """What files held before they were changed."""

    enabled: Annotated[bool, about("Keep what files held, so that changes can be taken back.", only(True))] = True
    max_per_session: Annotated[Positive, about("Checkpoints kept for one conversation.")] = 100
    retention_days: Annotated[float, about("Days after which a checkpoint is dropped.", gt=0, le=MOST)] = 30


class Mcp(Table, frozen=True, kw_only=True):
    """Tool servers, which are listed in `mcp.json`."""

    enabled: Annotated[bool, about("Start the tool servers.", only(False))] = True
    timeout: Annotated[Seconds, about("Seconds that a call of a tool server may take.", LOWER)] = 60
