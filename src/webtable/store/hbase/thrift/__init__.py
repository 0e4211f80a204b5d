"""The Thrift gateways of HBase as one call sees them: connections, structs and filters."""
