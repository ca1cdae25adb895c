"""What all data classes share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints


class Data(BaseModel):
    """An immutable value that may lie in a checkpoint.

    Fields are only ever added, with defaults, so that what an older version stored still loads; fields that a newer
    version stored are ignored.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", validate_default=False)


class Given(BaseModel):
    """An immutable value that a person or a model writes: an unknown field is an error, never dropped in silence."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Stored(Data):
    """A value that LangGraph stores with every checkpoint: what is at its default is left out.

    So the default of a field may never change.
    """

    def model_dump(self, **options: Any) -> dict[str, Any]:
        """Dump what is not at its default."""
        return super().model_dump(**{"exclude_defaults": True, **options})


def plain(value: Any) -> Any:
    """Give a value as the plain data that is stored: models without what is at its default, messages as they are."""
    if isinstance(value, Data | Given):
        return value.model_dump(mode="json", exclude_defaults=True)
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def distinct(texts: Iterable[str]) -> list[str]:
    """Drop empty and repeated texts, and keep the order."""
    return list(dict.fromkeys(text for text in texts if text))


Text = Annotated[str, StringConstraints(strip_whitespace=True)]
FilledText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Texts = Annotated[list[Text], AfterValidator(distinct)]


def _some(texts: list[str]) -> list[str]:
    if not texts:
        raise ValueError("needs at least one entry that is not empty")
    return texts


SomeTexts = Annotated[Texts, AfterValidator(_some)]


def canonical_json(value: Any) -> str:
    """Write JSON in the one form that sizes and hashes are taken of: sorted keys, no spaces, no NaN.

    Raises:
        ValueError: The value is not JSON.
    """
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    except TypeError as error:
        raise ValueError(f"is not JSON: {error}") from error


def sha256(text: str) -> str:
    """Hash a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
