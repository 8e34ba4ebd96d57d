"""gRPC servicers: authenticate, convert, call."""
