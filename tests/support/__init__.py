"""What the end-to-end and adversarial tests share: a running service, a client, a view from the host."""
