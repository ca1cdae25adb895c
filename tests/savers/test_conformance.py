"""LangGraph's own conformance suite, on every saver the project is tested with.

The suite calls the async methods. It runs a second time on a stand-in whose async methods call the sync
ones, so the sync side is held to the same.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.conformance import checkpointer_test, validate

from saver_kinds import ALL_KINDS, SaverKind

BASE = {"put", "put_writes", "get_tuple", "list", "delete_thread"}


@pytest.mark.parametrize("kind", ALL_KINDS)
async def test_async_methods_conform(kind: SaverKind, tmp_path: Path) -> None:
    async def fresh() -> AsyncIterator[BaseCheckpointSaver[Any]]:
        async with kind.open_async(kind.new_location(tmp_path)) as saver:
            yield saver

    await _assert_conforms(f"{kind.name} async", fresh)


@pytest.mark.parametrize("kind", ALL_KINDS)
async def test_sync_methods_conform(kind: SaverKind, tmp_path: Path) -> None:
    async def fresh() -> AsyncIterator[BaseCheckpointSaver[Any]]:
        with kind.open_sync(kind.new_location(tmp_path)) as saver:
            yield SyncAsAsync(saver)

    await _assert_conforms(f"{kind.name} sync", fresh)


async def _assert_conforms(name: str, fresh: Any) -> None:
    report = await validate(checkpointer_test(name=name)(fresh), capabilities=BASE)

    failures = [failure for result in report.results.values() for failure in result.failures]
    assert report.passed_all_base(), "\n".join(failures)


class SyncAsAsync(BaseCheckpointSaver[Any]):
    """A saver's sync methods under their async names."""

    def __init__(self, saver: BaseCheckpointSaver[Any]) -> None:
        super().__init__(serde=saver.serde)
        self.saver = saver

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return self.saver.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        self.saver.put_writes(config, writes, task_id, task_path)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self.saver.get_tuple(config)

    async def alist(self, config: RunnableConfig | None, **kwargs: Any) -> AsyncIterator[CheckpointTuple]:
        for row in self.saver.list(config, **kwargs):
            yield row

    async def adelete_thread(self, thread_id: str) -> None:
        self.saver.delete_thread(thread_id)

    def get_next_version(self, current: Any, channel: None) -> Any:
        return self.saver.get_next_version(current, channel)
