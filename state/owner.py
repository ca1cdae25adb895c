"""Owners: the tree and the user that artifacts and context snapshots belong to."""

from __future__ import annotations

from ._model import Data
from .ids import ROOT_ID

__all__ = ("Owner",)


class Owner(Data):
    """Whose something is. Nothing is ever read across roots or users.

    Attributes:
        root: Key of the tree: its thread and the id of its root task. Without a thread each run has a key of its own.
        user_id: The user, from the Runtime context or `config["configurable"]["user_id"]`; empty without one.
    """

    root: str
    user_id: str = ""

    @classmethod
    def of_thread(cls, thread_id: str, *, task_id: str = ROOT_ID, user_id: str = "") -> Owner:
        """Name the owner of a tree that runs, or is to run, on a thread.

        Args:
            thread_id: `config["configurable"]["thread_id"]`; it counts also without a checkpointer.
            task_id: Id of the root task.
            user_id: The user.
        """
        return cls(root=f"{thread_id}/{task_id}", user_id=user_id)
