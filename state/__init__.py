"""What is carried: the data of a task and the rules on that data."""

if __name__ != "langgraph_recursive.state":
    raise ImportError("import this room as langgraph_recursive.state")
