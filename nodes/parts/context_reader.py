"""read_context_ref: the tool with which a model reads the context references that its task was granted."""

from __future__ import annotations

from langchain_core.tools import BaseTool, StructuredTool
from pydantic import Field

from langgraph_recursive.state._model import FilledText, Given
from langgraph_recursive.state.brief import ContextRef
from langgraph_recursive.state.context_reads import ref_name
from langgraph_recursive.state.fence import fenced
from langgraph_recursive.state.task import Task

from ..reading import Page, aread_page, read_page, readable_refs

__all__ = ("context_refs_of", "read_context_ref", "reader_tools")

_NAME = "read_context_ref"
_PAGE_CHARS = 4_000
_MOST_CHARS = 20_000


class ReadCall(Given):
    """Read a page of a context reference that your task was granted. What you read counts against its allowance."""

    ref_id: FilledText
    version: FilledText
    offset: int = Field(0, ge=0, description="Where to begin, in characters.")
    limit: int = Field(_PAGE_CHARS, ge=1, le=_MOST_CHARS, description="How many characters to read.")


def _read(ref_id: str, version: str, offset: int = 0, limit: int = _PAGE_CHARS) -> str:
    ref = ContextRef(ref_id=ref_id, version=version)
    return _shown(ref, read_page(ref, offset=offset, limit=limit))


async def _aread(ref_id: str, version: str, offset: int = 0, limit: int = _PAGE_CHARS) -> str:
    ref = ContextRef(ref_id=ref_id, version=version)
    return _shown(ref, await aread_page(ref, offset=offset, limit=limit))


def _shown(ref: ContextRef, page: Page) -> str:
    end = page.offset + len(page.text)
    more = f"; go on at offset {end}" if end < page.size else ""
    head = f"Characters {page.offset} to {end} of {page.size}{more}. {page.left} may still be read."
    return f"{head}\n{fenced(page.text, context=ref_name(ref))}"


read_context_ref: BaseTool = StructuredTool(
    name=_NAME, description=ReadCall.__doc__ or "", args_schema=ReadCall, func=_read, coroutine=_aread
)
"""The tool. It works only for a task that a solver is running; what it refuses becomes an error message."""


def reader_tools(task: Task) -> list[BaseTool]:
    """The tool, where the task at work has references to read."""
    return [read_context_ref] if readable_refs(task) else []


def context_refs_of(task: Task) -> str:
    """List for a model what it may read; nothing where there is nothing."""
    refs = readable_refs(task)
    lines = [f"- ref_id {ref.ref_id}, version {ref.version}" for ref in refs]
    return "\n".join([f"# Context that you may read with `{_NAME}`\n", *lines]) if lines else ""
