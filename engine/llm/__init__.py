"""Language models behind one client: embedded, self-hosted or paid."""
