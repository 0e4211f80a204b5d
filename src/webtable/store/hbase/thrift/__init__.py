"""Single calls of the Thrift gateways: connections, sockets, credentials, structs and filters."""
