"""Error texts: what happened, and what to do next. Wording only; nothing is decided here."""

from collections.abc import Mapping

from smith_server.llm.presets import Preset


def for_code(code: str, detail: str, preset: Preset) -> str:
    """An error that came inside an answer."""
    match code:
        case "overloaded":
            return f"{preset.name} is overloaded{_said(detail)} Try again in a moment, or choose another model."
        case "rate_limited":
            return (
                f"{preset.name} takes no more requests for now{_said(detail)} Wait a little, or choose another model."
            )
        case "auth":
            return f"{preset.name} refused the key{_said(detail)} {_key(preset)}"
        case "bad_request":
            return f"{preset.name} refused the request{_said(detail)} Check model and settings; the same again fails."
    return f"{preset.name} reported an error{_said(detail)} Send the prompt again, or choose another model."


def for_response(code: str, status: int, headers: Mapping[str, str], detail: str, preset: Preset) -> str:
    """An error told by the status of the response."""
    if 300 <= status < 400:
        where = headers.get("location", "another address")
        return f"{shown_url(preset)} sends us on to {where} ({status}). Set the base URL to where it really is."
    if status == 404:
        return f"{preset.name} knows no such model or address (404){_said(detail)} {_lost(detail, preset)}"
    if status == 403 and code == "auth":
        return (
            f"{preset.name} does not allow this (403){_said(detail)} {_key(preset)} It may lack rights for the model."
        )
    return for_code(code, f"({status}) {detail}".strip(), preset)


def missing_key(preset: Preset) -> str:
    """No key although this provider wants one."""
    return f"{preset.name} needs a key. Set {preset.key_variable} in the environment, or choose another provider."


def bad_header(name: str, preset: Preset) -> str:
    """A header that cannot be sent; says nothing of its value."""
    if name.lower() in ("authorization", "x-api-key"):
        return (
            f"The key for {preset.name} holds characters that no key has (a line break, a quote?). "
            f"Set {preset.key_variable or 'its variable'} again."
        )
    return f"The header {name!r} for {preset.name} cannot be sent: its value is not one line of plain ASCII."


def bad_address(preset: Preset) -> str:
    """The base URL is none."""
    if not preset.base_url:
        return f"{preset.name} has no address. Set `llm_config.api_url`, e.g. to http://127.0.0.1:8080/v1."
    return f"The address of {preset.name}, {shown_url(preset)!r}, is no http or https URL. Correct it."


def quota(detail: str, preset: Preset) -> str:
    """The account is empty."""
    return f"The account at {preset.name} has nothing left to spend{_said(detail)} Look at its billing page."


def context(detail: str, preset: Preset) -> str:
    """The request does not fit."""
    return (
        f"The conversation is longer than the model can take{_said(detail)} "
        "Shorten it with /compact, start a new one, or choose a model with a larger window."
    )


def truncated(preset: Preset, markup: bool) -> str:
    """The answer broke off."""
    if markup:
        return f"{shown_url(preset)} answered with a web page instead of a model's answer. Check the base URL."
    return f"The answer of {preset.name} broke off before its end. Send the prompt again."


def stalled(preset: Preset) -> str:
    """Nothing came for too long."""
    return (
        f"{preset.name} sent nothing more within the time limit. Send the prompt again; "
        "for a slow model raise `llm_config.stream_stall_timeout`."
    )


def damaged(preset: Preset) -> str:
    """An event that is no JSON object."""
    return f"{preset.name} sent something that is no part of an answer. Send the prompt again."


def no_list(preset: Preset) -> str:
    """An answer to the question for models that is no list of them."""
    return f"{shown_url(preset)} answered with no list of models. Check the base URL."


def too_large(preset: Preset, limit: int) -> str:
    """One event beyond all measure."""
    return f"{preset.name} sent a single piece of more than {limit >> 20} MiB. Ask for less at a time."


def unreachable(reason: str, preset: Preset) -> str:
    """No connection came about, for a `Reason` of the HTTP client."""
    where = shown_url(preset)
    match reason:
        case "refused" if preset.name == "ollama":
            return f"No Ollama answers at {where}. Start it with `ollama serve`, or set OLLAMA_HOST."
        case "refused":
            return f"Nothing answers at {where}: the connection was refused. Is the server running?"
        case "unknown_host":
            return f"The host of {where} is not known. Check the address and your network."
        case "certificate":
            return f"The certificate of {where} is not trusted. Name your CA bundle in SSL_CERT_FILE."
        case "timeout":
            return (
                f"{where} did not take the connection within {preset.timeouts.connect:g} s. Check network and address."
            )
        case "proxy":
            return f"The proxy for {where} cannot be used. Check HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY."
        case "bundle":
            return f"The certificates to check {where} with cannot be read. Check SSL_CERT_FILE and SSL_CERT_DIR."
    return f"No connection to {where} came about. Check network and address."


def shown_url(preset: Preset) -> str:
    """The base URL without a user and password in it."""
    scheme, found, rest = preset.base_url.partition("://")
    if not found:
        return preset.base_url
    place, slash, path = rest.partition("/")
    return f"{scheme}://{place.rpartition('@')[2]}{slash}{path}"


def _said(detail: str) -> str:
    if not detail:
        return "."
    return f": {detail}" if detail.endswith((".", "!", "?", "…")) else f": {detail}."


def _key(preset: Preset) -> str:
    if preset.key_variable:
        return f"Check the key in {preset.key_variable}."
    return "Check whether it wants a key."


def _lost(detail: str, preset: Preset) -> str:
    if preset.name == "ollama":
        return "Fetch the model with `ollama pull NAME`, or choose one that `ollama list` shows."
    if preset.name == "custom":
        return f"Check the model name, and whether {shown_url(preset)} should end in /v1."
    return "Check the model name."
