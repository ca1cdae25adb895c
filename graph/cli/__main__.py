"""`python -m langgraph_recursive.graph.cli`."""

from . import main

if __name__ == "__main__":
    main()
