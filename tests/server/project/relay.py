"""A graph that calls a solver on its own server: on another thread, since a thread does one run at a time."""

from __future__ import annotations

from typing import TypedDict
from uuid import uuid4

from langgraph.graph import START, StateGraph
from langgraph.pregel.remote import RemoteGraph
from langgraph_sdk import get_client


class Order(TypedDict, total=False):
    task: str
    output: str


async def relay(state: Order) -> Order:
    """Hand the task over; a client without a URL reaches the server it runs on."""
    solver = RemoteGraph("solver", client=get_client())
    result = await solver.ainvoke({"task": state["task"]}, {"configurable": {"thread_id": str(uuid4())}})
    return {"output": result["output"]}


graph = StateGraph(Order).add_node("relay", relay).add_edge(START, "relay").compile()
