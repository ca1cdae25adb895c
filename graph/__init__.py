"""How the nodes are wired and run."""

if __name__ != "langgraph_recursive.graph":
    raise ImportError("import this room as langgraph_recursive.graph")
