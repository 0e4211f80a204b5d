"""HBase by its own protocol: calls to region servers and the master, without a gateway."""
