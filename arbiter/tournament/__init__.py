"""The life cycle of a tournament: plan, lease, record, reconcile."""
