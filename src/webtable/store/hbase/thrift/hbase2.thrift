// What webtable uses of HBase's Thrift2 service, with the field ids that are on the wire.

struct TTimeRange { 1: i64 minStamp, 2: i64 maxStamp }

struct TColumn { 1: binary family, 2: optional binary qualifier, 3: optional i64 timestamp }

struct TColumnValue { 1: binary family, 2: binary qualifier, 3: binary value, 4: optional i64 timestamp }

struct TResult { 1: optional binary row, 2: list<TColumnValue> columnValues }

struct TGet {
  1: binary row,
  2: optional list<TColumn> columns,
  4: optional TTimeRange timeRange,
  5: optional i32 maxVersions,
  12: optional i32 storeLimit,
  15: optional binary filterBytes,
}

struct TPut { 1: binary row, 2: list<TColumnValue> columnValues }

struct TScan {
  1: optional binary startRow,
  2: optional binary stopRow,
  3: optional list<TColumn> columns,
  4: optional i32 caching,
  5: optional i32 maxVersions,
  6: optional TTimeRange timeRange,
  11: optional bool reversed,
  15: optional i32 limit,
  18: optional binary filterBytes,
}

enum TBloomFilterType { NONE = 0, ROW = 1, ROWCOL = 2, ROWPREFIX_FIXED_LENGTH = 3 }

enum TCompressionAlgorithm { LZO = 0, GZ = 1, NONE = 2, SNAPPY = 3, LZ4 = 4, BZIP2 = 5, ZSTD = 6 }

enum TDataBlockEncoding { NONE = 0, PREFIX = 2, DIFF = 3, FAST_DIFF = 4, ROW_INDEX_V1 = 7 }

struct TTableName { 1: optional binary ns, 2: binary qualifier }

// Fields that FamilySchema does not have are here too: changing a family sends back what was read.
struct TColumnFamilyDescriptor {
  1: binary name,
  2: optional map<binary, binary> attributes,
  3: optional map<string, string> configuration,
  4: optional i32 blockSize,
  5: optional TBloomFilterType bloomnFilterType,
  6: optional TCompressionAlgorithm compressionType,
  7: optional i16 dfsReplication,
  8: optional TDataBlockEncoding dataBlockEncoding,
  9: optional i32 keepDeletedCells,
  10: optional i32 maxVersions,
  11: optional i32 minVersions,
  12: optional i32 scope,
  13: optional i32 timeToLive,
  14: optional bool blockCacheEnabled,
  15: optional bool cacheBloomsOnWrite,
  16: optional bool cacheDataOnWrite,
  17: optional bool cacheIndexesOnWrite,
  18: optional bool compressTags,
  19: optional bool evictBlocksOnClose,
  20: optional bool inMemory,
}

struct TTableDescriptor { 1: TTableName tableName, 2: optional list<TColumnFamilyDescriptor> columns }

exception TIOError { 1: optional string message, 2: optional bool canRetry }

exception TIllegalArgument { 1: optional string message }

service THBaseService {
  list<TResult> getMultiple(1: binary table, 2: list<TGet> tgets) throws (1: TIOError io)
  bool checkAndPut(1: binary table, 2: binary row, 3: binary family, 4: binary qualifier, 5: binary value, 6: TPut tput)
    throws (1: TIOError io)
  void putMultiple(1: binary table, 2: list<TPut> tputs) throws (1: TIOError io)
  list<TResult> getScannerResults(1: binary table, 2: TScan tscan, 3: i32 numRows) throws (1: TIOError io)
  TTableDescriptor getTableDescriptor(1: TTableName table) throws (1: TIOError io)
  void createTable(1: TTableDescriptor desc, 2: optional list<binary> splitKeys) throws (1: TIOError io)
  bool isTableEnabled(1: TTableName tableName) throws (1: TIOError io)
  void modifyColumnFamily(1: TTableName tableName, 2: TColumnFamilyDescriptor column) throws (1: TIOError io)
  i32 getThriftServerType()
  list<binary> getTableNames() throws (1: TIOError io)
}
