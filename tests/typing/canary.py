"""One planted error that the type checker must find: a mis-set checker reports none at all."""

from langgraph_recursive import state

planted = state.there_is_no_such_name
