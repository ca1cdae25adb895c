"""What happens to a task: one file per node, one per family of pluggable parts."""

if __name__ != "langgraph_recursive.nodes":
    raise ImportError("import this room as langgraph_recursive.nodes")
