"""Questions of the window, one file a workspace; `base.py` says what a question is."""

from mrfstudio.engine.protocol.requests.base import Background, NotYet, Reply, Request, Route

__all__ = ["Background", "NotYet", "Reply", "Request", "Route"]
