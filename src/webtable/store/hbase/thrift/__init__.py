"""HBase by its Thrift gateways: HappyBase for everything, and Thrift2 beside it for what it reads faster."""
