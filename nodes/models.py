"""Models by name."""

from __future__ import annotations

from langchain_core.language_models import BaseChatModel

from langgraph_recursive.state.errors import InvalidInputError, MissingDependencyError

__all__ = ("as_chat_model", "chat_model")


def as_chat_model(model: str | BaseChatModel | None) -> BaseChatModel | None:
    """Make a chat model of a name; a model passes as it is."""
    return chat_model(model) if isinstance(model, str) else model


def chat_model(name: str) -> BaseChatModel:
    """Make a chat model with `init_chat_model`.

    Args:
        name: "provider:name".

    Raises:
        MissingDependencyError: `langchain` or the provider's package is not installed.
        InvalidInputError: There is no such provider, or it refuses the name.
    """
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise MissingDependencyError(
            f"model {name!r} is given by name: pip install 'langgraph-recursive[models]', or pass a chat model",
            field="model",
            value=name,
        ) from error
    try:
        return init_chat_model(name)
    except ImportError as error:
        raise MissingDependencyError(f"model {name!r}: {error}", field="model", value=name) from error
    except ValueError as error:
        raise InvalidInputError(f"model {name!r}: {error}", field="model", value=name) from error
