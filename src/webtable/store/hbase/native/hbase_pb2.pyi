from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EmptyMsg(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class NameBytesPair(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: bytes
    def __init__(self, name: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...

class BytesBytesPair(_message.Message):
    __slots__ = ("first", "second")
    FIRST_FIELD_NUMBER: _ClassVar[int]
    SECOND_FIELD_NUMBER: _ClassVar[int]
    first: bytes
    second: bytes
    def __init__(self, first: _Optional[bytes] = ..., second: _Optional[bytes] = ...) -> None: ...

class NameStringPair(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class ServerName(_message.Message):
    __slots__ = ("host_name", "port", "start_code")
    HOST_NAME_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    START_CODE_FIELD_NUMBER: _ClassVar[int]
    host_name: str
    port: int
    start_code: int
    def __init__(self, host_name: _Optional[str] = ..., port: _Optional[int] = ..., start_code: _Optional[int] = ...) -> None: ...

class TableName(_message.Message):
    __slots__ = ("namespace", "qualifier")
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    QUALIFIER_FIELD_NUMBER: _ClassVar[int]
    namespace: bytes
    qualifier: bytes
    def __init__(self, namespace: _Optional[bytes] = ..., qualifier: _Optional[bytes] = ...) -> None: ...

class RegionInfo(_message.Message):
    __slots__ = ("region_id", "table_name", "start_key", "end_key", "offline", "split", "replica_id")
    REGION_ID_FIELD_NUMBER: _ClassVar[int]
    TABLE_NAME_FIELD_NUMBER: _ClassVar[int]
    START_KEY_FIELD_NUMBER: _ClassVar[int]
    END_KEY_FIELD_NUMBER: _ClassVar[int]
    OFFLINE_FIELD_NUMBER: _ClassVar[int]
    SPLIT_FIELD_NUMBER: _ClassVar[int]
    REPLICA_ID_FIELD_NUMBER: _ClassVar[int]
    region_id: int
    table_name: TableName
    start_key: bytes
    end_key: bytes
    offline: bool
    split: bool
    replica_id: int
    def __init__(self, region_id: _Optional[int] = ..., table_name: _Optional[_Union[TableName, _Mapping[str, object]]] = ..., start_key: _Optional[bytes] = ..., end_key: _Optional[bytes] = ..., offline: bool = ..., split: bool = ..., replica_id: _Optional[int] = ...) -> None: ...

class RegionSpecifier(_message.Message):
    __slots__ = ("type", "value")
    TYPE_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    type: int
    value: bytes
    def __init__(self, type: _Optional[int] = ..., value: _Optional[bytes] = ...) -> None: ...

class TimeRange(_message.Message):
    __slots__ = ("to",)
    FROM_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    to: int
    def __init__(self, to: _Optional[int] = ..., **kwargs: int) -> None: ...

class Column(_message.Message):
    __slots__ = ("family", "qualifier")
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    QUALIFIER_FIELD_NUMBER: _ClassVar[int]
    family: bytes
    qualifier: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, family: _Optional[bytes] = ..., qualifier: _Optional[_Iterable[bytes]] = ...) -> None: ...

class ColumnFamilySchema(_message.Message):
    __slots__ = ("name", "attributes", "configuration")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    CONFIGURATION_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    attributes: _containers.RepeatedCompositeFieldContainer[BytesBytesPair]
    configuration: _containers.RepeatedCompositeFieldContainer[NameStringPair]
    def __init__(self, name: _Optional[bytes] = ..., attributes: _Optional[_Iterable[_Union[BytesBytesPair, _Mapping[str, object]]]] = ..., configuration: _Optional[_Iterable[_Union[NameStringPair, _Mapping[str, object]]]] = ...) -> None: ...

class TableSchema(_message.Message):
    __slots__ = ("table_name", "attributes", "column_families", "configuration")
    TABLE_NAME_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FAMILIES_FIELD_NUMBER: _ClassVar[int]
    CONFIGURATION_FIELD_NUMBER: _ClassVar[int]
    table_name: TableName
    attributes: _containers.RepeatedCompositeFieldContainer[BytesBytesPair]
    column_families: _containers.RepeatedCompositeFieldContainer[ColumnFamilySchema]
    configuration: _containers.RepeatedCompositeFieldContainer[NameStringPair]
    def __init__(self, table_name: _Optional[_Union[TableName, _Mapping[str, object]]] = ..., attributes: _Optional[_Iterable[_Union[BytesBytesPair, _Mapping[str, object]]]] = ..., column_families: _Optional[_Iterable[_Union[ColumnFamilySchema, _Mapping[str, object]]]] = ..., configuration: _Optional[_Iterable[_Union[NameStringPair, _Mapping[str, object]]]] = ...) -> None: ...

class UserInformation(_message.Message):
    __slots__ = ("effective_user", "real_user")
    EFFECTIVE_USER_FIELD_NUMBER: _ClassVar[int]
    REAL_USER_FIELD_NUMBER: _ClassVar[int]
    effective_user: str
    real_user: str
    def __init__(self, effective_user: _Optional[str] = ..., real_user: _Optional[str] = ...) -> None: ...

class VersionInfo(_message.Message):
    __slots__ = ("version", "url", "revision", "user", "date", "src_checksum", "version_major", "version_minor")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    URL_FIELD_NUMBER: _ClassVar[int]
    REVISION_FIELD_NUMBER: _ClassVar[int]
    USER_FIELD_NUMBER: _ClassVar[int]
    DATE_FIELD_NUMBER: _ClassVar[int]
    SRC_CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    VERSION_MAJOR_FIELD_NUMBER: _ClassVar[int]
    VERSION_MINOR_FIELD_NUMBER: _ClassVar[int]
    version: str
    url: str
    revision: str
    user: str
    date: str
    src_checksum: str
    version_major: int
    version_minor: int
    def __init__(self, version: _Optional[str] = ..., url: _Optional[str] = ..., revision: _Optional[str] = ..., user: _Optional[str] = ..., date: _Optional[str] = ..., src_checksum: _Optional[str] = ..., version_major: _Optional[int] = ..., version_minor: _Optional[int] = ...) -> None: ...

class ConnectionHeader(_message.Message):
    __slots__ = ("user_info", "service_name", "cell_block_codec_class", "version_info")
    USER_INFO_FIELD_NUMBER: _ClassVar[int]
    SERVICE_NAME_FIELD_NUMBER: _ClassVar[int]
    CELL_BLOCK_CODEC_CLASS_FIELD_NUMBER: _ClassVar[int]
    VERSION_INFO_FIELD_NUMBER: _ClassVar[int]
    user_info: UserInformation
    service_name: str
    cell_block_codec_class: str
    version_info: VersionInfo
    def __init__(self, user_info: _Optional[_Union[UserInformation, _Mapping[str, object]]] = ..., service_name: _Optional[str] = ..., cell_block_codec_class: _Optional[str] = ..., version_info: _Optional[_Union[VersionInfo, _Mapping[str, object]]] = ...) -> None: ...

class CellBlockMeta(_message.Message):
    __slots__ = ("length",)
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    length: int
    def __init__(self, length: _Optional[int] = ...) -> None: ...

class ExceptionResponse(_message.Message):
    __slots__ = ("exception_class_name", "stack_trace", "do_not_retry", "server_overloaded")
    EXCEPTION_CLASS_NAME_FIELD_NUMBER: _ClassVar[int]
    STACK_TRACE_FIELD_NUMBER: _ClassVar[int]
    DO_NOT_RETRY_FIELD_NUMBER: _ClassVar[int]
    SERVER_OVERLOADED_FIELD_NUMBER: _ClassVar[int]
    exception_class_name: str
    stack_trace: str
    do_not_retry: bool
    server_overloaded: bool
    def __init__(self, exception_class_name: _Optional[str] = ..., stack_trace: _Optional[str] = ..., do_not_retry: bool = ..., server_overloaded: bool = ...) -> None: ...

class RequestHeader(_message.Message):
    __slots__ = ("call_id", "method_name", "request_param", "cell_block_meta", "priority", "timeout")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    METHOD_NAME_FIELD_NUMBER: _ClassVar[int]
    REQUEST_PARAM_FIELD_NUMBER: _ClassVar[int]
    CELL_BLOCK_META_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    method_name: str
    request_param: bool
    cell_block_meta: CellBlockMeta
    priority: int
    timeout: int
    def __init__(self, call_id: _Optional[int] = ..., method_name: _Optional[str] = ..., request_param: bool = ..., cell_block_meta: _Optional[_Union[CellBlockMeta, _Mapping[str, object]]] = ..., priority: _Optional[int] = ..., timeout: _Optional[int] = ...) -> None: ...

class ResponseHeader(_message.Message):
    __slots__ = ("call_id", "exception", "cell_block_meta")
    CALL_ID_FIELD_NUMBER: _ClassVar[int]
    EXCEPTION_FIELD_NUMBER: _ClassVar[int]
    CELL_BLOCK_META_FIELD_NUMBER: _ClassVar[int]
    call_id: int
    exception: ExceptionResponse
    cell_block_meta: CellBlockMeta
    def __init__(self, call_id: _Optional[int] = ..., exception: _Optional[_Union[ExceptionResponse, _Mapping[str, object]]] = ..., cell_block_meta: _Optional[_Union[CellBlockMeta, _Mapping[str, object]]] = ...) -> None: ...

class Filter(_message.Message):
    __slots__ = ("name", "serialized_filter")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SERIALIZED_FILTER_FIELD_NUMBER: _ClassVar[int]
    name: str
    serialized_filter: bytes
    def __init__(self, name: _Optional[str] = ..., serialized_filter: _Optional[bytes] = ...) -> None: ...

class Get(_message.Message):
    __slots__ = ("row", "column", "filter", "time_range", "max_versions", "store_limit")
    ROW_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    TIME_RANGE_FIELD_NUMBER: _ClassVar[int]
    MAX_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    STORE_LIMIT_FIELD_NUMBER: _ClassVar[int]
    row: bytes
    column: _containers.RepeatedCompositeFieldContainer[Column]
    filter: Filter
    time_range: TimeRange
    max_versions: int
    store_limit: int
    def __init__(self, row: _Optional[bytes] = ..., column: _Optional[_Iterable[_Union[Column, _Mapping[str, object]]]] = ..., filter: _Optional[_Union[Filter, _Mapping[str, object]]] = ..., time_range: _Optional[_Union[TimeRange, _Mapping[str, object]]] = ..., max_versions: _Optional[int] = ..., store_limit: _Optional[int] = ...) -> None: ...

class Result(_message.Message):
    __slots__ = ("associated_cell_count",)
    ASSOCIATED_CELL_COUNT_FIELD_NUMBER: _ClassVar[int]
    associated_cell_count: int
    def __init__(self, associated_cell_count: _Optional[int] = ...) -> None: ...

class MutationProto(_message.Message):
    __slots__ = ("row", "mutate_type", "timestamp", "associated_cell_count")
    ROW_FIELD_NUMBER: _ClassVar[int]
    MUTATE_TYPE_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    ASSOCIATED_CELL_COUNT_FIELD_NUMBER: _ClassVar[int]
    row: bytes
    mutate_type: int
    timestamp: int
    associated_cell_count: int
    def __init__(self, row: _Optional[bytes] = ..., mutate_type: _Optional[int] = ..., timestamp: _Optional[int] = ..., associated_cell_count: _Optional[int] = ...) -> None: ...

class Action(_message.Message):
    __slots__ = ("index", "mutation", "get")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    MUTATION_FIELD_NUMBER: _ClassVar[int]
    GET_FIELD_NUMBER: _ClassVar[int]
    index: int
    mutation: MutationProto
    get: Get
    def __init__(self, index: _Optional[int] = ..., mutation: _Optional[_Union[MutationProto, _Mapping[str, object]]] = ..., get: _Optional[_Union[Get, _Mapping[str, object]]] = ...) -> None: ...

class RegionAction(_message.Message):
    __slots__ = ("region", "action")
    REGION_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    region: RegionSpecifier
    action: _containers.RepeatedCompositeFieldContainer[Action]
    def __init__(self, region: _Optional[_Union[RegionSpecifier, _Mapping[str, object]]] = ..., action: _Optional[_Iterable[_Union[Action, _Mapping[str, object]]]] = ...) -> None: ...

class ResultOrException(_message.Message):
    __slots__ = ("index", "result", "exception")
    INDEX_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    EXCEPTION_FIELD_NUMBER: _ClassVar[int]
    index: int
    result: Result
    exception: NameBytesPair
    def __init__(self, index: _Optional[int] = ..., result: _Optional[_Union[Result, _Mapping[str, object]]] = ..., exception: _Optional[_Union[NameBytesPair, _Mapping[str, object]]] = ...) -> None: ...

class RegionActionResult(_message.Message):
    __slots__ = ("resultOrException", "exception")
    RESULTOREXCEPTION_FIELD_NUMBER: _ClassVar[int]
    EXCEPTION_FIELD_NUMBER: _ClassVar[int]
    resultOrException: _containers.RepeatedCompositeFieldContainer[ResultOrException]
    exception: NameBytesPair
    def __init__(self, resultOrException: _Optional[_Iterable[_Union[ResultOrException, _Mapping[str, object]]]] = ..., exception: _Optional[_Union[NameBytesPair, _Mapping[str, object]]] = ...) -> None: ...

class MultiRequest(_message.Message):
    __slots__ = ("regionAction",)
    REGIONACTION_FIELD_NUMBER: _ClassVar[int]
    regionAction: _containers.RepeatedCompositeFieldContainer[RegionAction]
    def __init__(self, regionAction: _Optional[_Iterable[_Union[RegionAction, _Mapping[str, object]]]] = ...) -> None: ...

class MultiResponse(_message.Message):
    __slots__ = ("regionActionResult",)
    REGIONACTIONRESULT_FIELD_NUMBER: _ClassVar[int]
    regionActionResult: _containers.RepeatedCompositeFieldContainer[RegionActionResult]
    def __init__(self, regionActionResult: _Optional[_Iterable[_Union[RegionActionResult, _Mapping[str, object]]]] = ...) -> None: ...

class Comparator(_message.Message):
    __slots__ = ("name", "serialized_comparator")
    NAME_FIELD_NUMBER: _ClassVar[int]
    SERIALIZED_COMPARATOR_FIELD_NUMBER: _ClassVar[int]
    name: str
    serialized_comparator: bytes
    def __init__(self, name: _Optional[str] = ..., serialized_comparator: _Optional[bytes] = ...) -> None: ...

class ByteArrayComparable(_message.Message):
    __slots__ = ("value",)
    VALUE_FIELD_NUMBER: _ClassVar[int]
    value: bytes
    def __init__(self, value: _Optional[bytes] = ...) -> None: ...

class BinaryComparator(_message.Message):
    __slots__ = ("comparable",)
    COMPARABLE_FIELD_NUMBER: _ClassVar[int]
    comparable: ByteArrayComparable
    def __init__(self, comparable: _Optional[_Union[ByteArrayComparable, _Mapping[str, object]]] = ...) -> None: ...

class Condition(_message.Message):
    __slots__ = ("row", "family", "qualifier", "compare_type", "comparator")
    ROW_FIELD_NUMBER: _ClassVar[int]
    FAMILY_FIELD_NUMBER: _ClassVar[int]
    QUALIFIER_FIELD_NUMBER: _ClassVar[int]
    COMPARE_TYPE_FIELD_NUMBER: _ClassVar[int]
    COMPARATOR_FIELD_NUMBER: _ClassVar[int]
    row: bytes
    family: bytes
    qualifier: bytes
    compare_type: int
    comparator: Comparator
    def __init__(self, row: _Optional[bytes] = ..., family: _Optional[bytes] = ..., qualifier: _Optional[bytes] = ..., compare_type: _Optional[int] = ..., comparator: _Optional[_Union[Comparator, _Mapping[str, object]]] = ...) -> None: ...

class MutateRequest(_message.Message):
    __slots__ = ("region", "mutation", "condition")
    REGION_FIELD_NUMBER: _ClassVar[int]
    MUTATION_FIELD_NUMBER: _ClassVar[int]
    CONDITION_FIELD_NUMBER: _ClassVar[int]
    region: RegionSpecifier
    mutation: MutationProto
    condition: Condition
    def __init__(self, region: _Optional[_Union[RegionSpecifier, _Mapping[str, object]]] = ..., mutation: _Optional[_Union[MutationProto, _Mapping[str, object]]] = ..., condition: _Optional[_Union[Condition, _Mapping[str, object]]] = ...) -> None: ...

class MutateResponse(_message.Message):
    __slots__ = ("processed",)
    PROCESSED_FIELD_NUMBER: _ClassVar[int]
    processed: bool
    def __init__(self, processed: bool = ...) -> None: ...

class Scan(_message.Message):
    __slots__ = ("column", "start_row", "stop_row", "filter", "time_range", "max_versions", "max_result_size", "reversed", "include_start_row", "include_stop_row", "readType")
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    START_ROW_FIELD_NUMBER: _ClassVar[int]
    STOP_ROW_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    TIME_RANGE_FIELD_NUMBER: _ClassVar[int]
    MAX_VERSIONS_FIELD_NUMBER: _ClassVar[int]
    MAX_RESULT_SIZE_FIELD_NUMBER: _ClassVar[int]
    REVERSED_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_START_ROW_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_STOP_ROW_FIELD_NUMBER: _ClassVar[int]
    READTYPE_FIELD_NUMBER: _ClassVar[int]
    column: _containers.RepeatedCompositeFieldContainer[Column]
    start_row: bytes
    stop_row: bytes
    filter: Filter
    time_range: TimeRange
    max_versions: int
    max_result_size: int
    reversed: bool
    include_start_row: bool
    include_stop_row: bool
    readType: int
    def __init__(self, column: _Optional[_Iterable[_Union[Column, _Mapping[str, object]]]] = ..., start_row: _Optional[bytes] = ..., stop_row: _Optional[bytes] = ..., filter: _Optional[_Union[Filter, _Mapping[str, object]]] = ..., time_range: _Optional[_Union[TimeRange, _Mapping[str, object]]] = ..., max_versions: _Optional[int] = ..., max_result_size: _Optional[int] = ..., reversed: bool = ..., include_start_row: bool = ..., include_stop_row: bool = ..., readType: _Optional[int] = ...) -> None: ...

class ScanRequest(_message.Message):
    __slots__ = ("region", "scan", "scanner_id", "number_of_rows", "close_scanner", "next_call_seq", "client_handles_partials", "client_handles_heartbeats", "limit_of_rows")
    REGION_FIELD_NUMBER: _ClassVar[int]
    SCAN_FIELD_NUMBER: _ClassVar[int]
    SCANNER_ID_FIELD_NUMBER: _ClassVar[int]
    NUMBER_OF_ROWS_FIELD_NUMBER: _ClassVar[int]
    CLOSE_SCANNER_FIELD_NUMBER: _ClassVar[int]
    NEXT_CALL_SEQ_FIELD_NUMBER: _ClassVar[int]
    CLIENT_HANDLES_PARTIALS_FIELD_NUMBER: _ClassVar[int]
    CLIENT_HANDLES_HEARTBEATS_FIELD_NUMBER: _ClassVar[int]
    LIMIT_OF_ROWS_FIELD_NUMBER: _ClassVar[int]
    region: RegionSpecifier
    scan: Scan
    scanner_id: int
    number_of_rows: int
    close_scanner: bool
    next_call_seq: int
    client_handles_partials: bool
    client_handles_heartbeats: bool
    limit_of_rows: int
    def __init__(self, region: _Optional[_Union[RegionSpecifier, _Mapping[str, object]]] = ..., scan: _Optional[_Union[Scan, _Mapping[str, object]]] = ..., scanner_id: _Optional[int] = ..., number_of_rows: _Optional[int] = ..., close_scanner: bool = ..., next_call_seq: _Optional[int] = ..., client_handles_partials: bool = ..., client_handles_heartbeats: bool = ..., limit_of_rows: _Optional[int] = ...) -> None: ...

class ScanResponse(_message.Message):
    __slots__ = ("cells_per_result", "scanner_id", "more_results", "partial_flag_per_result", "more_results_in_region")
    CELLS_PER_RESULT_FIELD_NUMBER: _ClassVar[int]
    SCANNER_ID_FIELD_NUMBER: _ClassVar[int]
    MORE_RESULTS_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_FLAG_PER_RESULT_FIELD_NUMBER: _ClassVar[int]
    MORE_RESULTS_IN_REGION_FIELD_NUMBER: _ClassVar[int]
    cells_per_result: _containers.RepeatedScalarFieldContainer[int]
    scanner_id: int
    more_results: bool
    partial_flag_per_result: _containers.RepeatedScalarFieldContainer[bool]
    more_results_in_region: bool
    def __init__(self, cells_per_result: _Optional[_Iterable[int]] = ..., scanner_id: _Optional[int] = ..., more_results: bool = ..., partial_flag_per_result: _Optional[_Iterable[bool]] = ..., more_results_in_region: bool = ...) -> None: ...

class MetaRegionServer(_message.Message):
    __slots__ = ("server", "state")
    SERVER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    server: ServerName
    state: int
    def __init__(self, server: _Optional[_Union[ServerName, _Mapping[str, object]]] = ..., state: _Optional[int] = ...) -> None: ...

class Master(_message.Message):
    __slots__ = ("master",)
    MASTER_FIELD_NUMBER: _ClassVar[int]
    master: ServerName
    def __init__(self, master: _Optional[_Union[ServerName, _Mapping[str, object]]] = ...) -> None: ...

class RegionLocation(_message.Message):
    __slots__ = ("region_info", "server_name", "seq_num")
    REGION_INFO_FIELD_NUMBER: _ClassVar[int]
    SERVER_NAME_FIELD_NUMBER: _ClassVar[int]
    SEQ_NUM_FIELD_NUMBER: _ClassVar[int]
    region_info: RegionInfo
    server_name: ServerName
    seq_num: int
    def __init__(self, region_info: _Optional[_Union[RegionInfo, _Mapping[str, object]]] = ..., server_name: _Optional[_Union[ServerName, _Mapping[str, object]]] = ..., seq_num: _Optional[int] = ...) -> None: ...

class GetMetaRegionLocationsResponse(_message.Message):
    __slots__ = ("meta_locations",)
    META_LOCATIONS_FIELD_NUMBER: _ClassVar[int]
    meta_locations: _containers.RepeatedCompositeFieldContainer[RegionLocation]
    def __init__(self, meta_locations: _Optional[_Iterable[_Union[RegionLocation, _Mapping[str, object]]]] = ...) -> None: ...

class GetActiveMasterResponse(_message.Message):
    __slots__ = ("server_name",)
    SERVER_NAME_FIELD_NUMBER: _ClassVar[int]
    server_name: ServerName
    def __init__(self, server_name: _Optional[_Union[ServerName, _Mapping[str, object]]] = ...) -> None: ...

class TableState(_message.Message):
    __slots__ = ("state",)
    STATE_FIELD_NUMBER: _ClassVar[int]
    state: int
    def __init__(self, state: _Optional[int] = ...) -> None: ...

class CreateTableRequest(_message.Message):
    __slots__ = ("table_schema", "split_keys", "nonce_group", "nonce")
    TABLE_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    SPLIT_KEYS_FIELD_NUMBER: _ClassVar[int]
    NONCE_GROUP_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    table_schema: TableSchema
    split_keys: _containers.RepeatedScalarFieldContainer[bytes]
    nonce_group: int
    nonce: int
    def __init__(self, table_schema: _Optional[_Union[TableSchema, _Mapping[str, object]]] = ..., split_keys: _Optional[_Iterable[bytes]] = ..., nonce_group: _Optional[int] = ..., nonce: _Optional[int] = ...) -> None: ...

class TableRequest(_message.Message):
    __slots__ = ("table_name", "nonce_group", "nonce")
    TABLE_NAME_FIELD_NUMBER: _ClassVar[int]
    NONCE_GROUP_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    table_name: TableName
    nonce_group: int
    nonce: int
    def __init__(self, table_name: _Optional[_Union[TableName, _Mapping[str, object]]] = ..., nonce_group: _Optional[int] = ..., nonce: _Optional[int] = ...) -> None: ...

class ColumnRequest(_message.Message):
    __slots__ = ("table_name", "column_families", "nonce_group", "nonce")
    TABLE_NAME_FIELD_NUMBER: _ClassVar[int]
    COLUMN_FAMILIES_FIELD_NUMBER: _ClassVar[int]
    NONCE_GROUP_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    table_name: TableName
    column_families: ColumnFamilySchema
    nonce_group: int
    nonce: int
    def __init__(self, table_name: _Optional[_Union[TableName, _Mapping[str, object]]] = ..., column_families: _Optional[_Union[ColumnFamilySchema, _Mapping[str, object]]] = ..., nonce_group: _Optional[int] = ..., nonce: _Optional[int] = ...) -> None: ...

class ProcedureStarted(_message.Message):
    __slots__ = ("proc_id",)
    PROC_ID_FIELD_NUMBER: _ClassVar[int]
    proc_id: int
    def __init__(self, proc_id: _Optional[int] = ...) -> None: ...

class GetProcedureResultRequest(_message.Message):
    __slots__ = ("proc_id",)
    PROC_ID_FIELD_NUMBER: _ClassVar[int]
    proc_id: int
    def __init__(self, proc_id: _Optional[int] = ...) -> None: ...

class GenericExceptionMessage(_message.Message):
    __slots__ = ("class_name", "message")
    CLASS_NAME_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    class_name: str
    message: str
    def __init__(self, class_name: _Optional[str] = ..., message: _Optional[str] = ...) -> None: ...

class ForeignExceptionMessage(_message.Message):
    __slots__ = ("source", "generic_exception")
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    GENERIC_EXCEPTION_FIELD_NUMBER: _ClassVar[int]
    source: str
    generic_exception: GenericExceptionMessage
    def __init__(self, source: _Optional[str] = ..., generic_exception: _Optional[_Union[GenericExceptionMessage, _Mapping[str, object]]] = ...) -> None: ...

class GetProcedureResultResponse(_message.Message):
    __slots__ = ("state", "exception")
    STATE_FIELD_NUMBER: _ClassVar[int]
    EXCEPTION_FIELD_NUMBER: _ClassVar[int]
    state: int
    exception: ForeignExceptionMessage
    def __init__(self, state: _Optional[int] = ..., exception: _Optional[_Union[ForeignExceptionMessage, _Mapping[str, object]]] = ...) -> None: ...

class GetTableDescriptorsRequest(_message.Message):
    __slots__ = ("table_names", "include_sys_tables")
    TABLE_NAMES_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_SYS_TABLES_FIELD_NUMBER: _ClassVar[int]
    table_names: _containers.RepeatedCompositeFieldContainer[TableName]
    include_sys_tables: bool
    def __init__(self, table_names: _Optional[_Iterable[_Union[TableName, _Mapping[str, object]]]] = ..., include_sys_tables: bool = ...) -> None: ...

class GetTableDescriptorsResponse(_message.Message):
    __slots__ = ("table_schema",)
    TABLE_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    table_schema: _containers.RepeatedCompositeFieldContainer[TableSchema]
    def __init__(self, table_schema: _Optional[_Iterable[_Union[TableSchema, _Mapping[str, object]]]] = ...) -> None: ...

class GetTableNamesRequest(_message.Message):
    __slots__ = ("regex", "include_sys_tables")
    REGEX_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_SYS_TABLES_FIELD_NUMBER: _ClassVar[int]
    regex: str
    include_sys_tables: bool
    def __init__(self, regex: _Optional[str] = ..., include_sys_tables: bool = ...) -> None: ...

class GetTableNamesResponse(_message.Message):
    __slots__ = ("table_names",)
    TABLE_NAMES_FIELD_NUMBER: _ClassVar[int]
    table_names: _containers.RepeatedCompositeFieldContainer[TableName]
    def __init__(self, table_names: _Optional[_Iterable[_Union[TableName, _Mapping[str, object]]]] = ...) -> None: ...

class NamespaceDescriptor(_message.Message):
    __slots__ = ("name",)
    NAME_FIELD_NUMBER: _ClassVar[int]
    name: bytes
    def __init__(self, name: _Optional[bytes] = ...) -> None: ...

class NamespaceRequest(_message.Message):
    __slots__ = ("namespaceDescriptor", "nonce_group", "nonce")
    NAMESPACEDESCRIPTOR_FIELD_NUMBER: _ClassVar[int]
    NONCE_GROUP_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    namespaceDescriptor: NamespaceDescriptor
    nonce_group: int
    nonce: int
    def __init__(self, namespaceDescriptor: _Optional[_Union[NamespaceDescriptor, _Mapping[str, object]]] = ..., nonce_group: _Optional[int] = ..., nonce: _Optional[int] = ...) -> None: ...

class ListNamespacesResponse(_message.Message):
    __slots__ = ("namespaceName",)
    NAMESPACENAME_FIELD_NUMBER: _ClassVar[int]
    namespaceName: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, namespaceName: _Optional[_Iterable[str]] = ...) -> None: ...

class SplitTableRegionRequest(_message.Message):
    __slots__ = ("region_info", "split_row", "nonce_group", "nonce")
    REGION_INFO_FIELD_NUMBER: _ClassVar[int]
    SPLIT_ROW_FIELD_NUMBER: _ClassVar[int]
    NONCE_GROUP_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    region_info: RegionInfo
    split_row: bytes
    nonce_group: int
    nonce: int
    def __init__(self, region_info: _Optional[_Union[RegionInfo, _Mapping[str, object]]] = ..., split_row: _Optional[bytes] = ..., nonce_group: _Optional[int] = ..., nonce: _Optional[int] = ...) -> None: ...

class SnapshotDescription(_message.Message):
    __slots__ = ("name", "table", "creation_time", "type", "version", "owner")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    CREATION_TIME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    name: str
    table: str
    creation_time: int
    type: int
    version: int
    owner: str
    def __init__(self, name: _Optional[str] = ..., table: _Optional[str] = ..., creation_time: _Optional[int] = ..., type: _Optional[int] = ..., version: _Optional[int] = ..., owner: _Optional[str] = ...) -> None: ...

class SnapshotRequest(_message.Message):
    __slots__ = ("snapshot", "nonce_group", "nonce")
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    NONCE_GROUP_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    snapshot: SnapshotDescription
    nonce_group: int
    nonce: int
    def __init__(self, snapshot: _Optional[_Union[SnapshotDescription, _Mapping[str, object]]] = ..., nonce_group: _Optional[int] = ..., nonce: _Optional[int] = ...) -> None: ...

class SnapshotResponse(_message.Message):
    __slots__ = ("expected_timeout", "proc_id")
    EXPECTED_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    PROC_ID_FIELD_NUMBER: _ClassVar[int]
    expected_timeout: int
    proc_id: int
    def __init__(self, expected_timeout: _Optional[int] = ..., proc_id: _Optional[int] = ...) -> None: ...

class IsSnapshotDoneRequest(_message.Message):
    __slots__ = ("snapshot",)
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    snapshot: SnapshotDescription
    def __init__(self, snapshot: _Optional[_Union[SnapshotDescription, _Mapping[str, object]]] = ...) -> None: ...

class IsSnapshotDoneResponse(_message.Message):
    __slots__ = ("done",)
    DONE_FIELD_NUMBER: _ClassVar[int]
    done: bool
    def __init__(self, done: bool = ...) -> None: ...

class RestoreSnapshotRequest(_message.Message):
    __slots__ = ("snapshot", "nonce_group", "nonce")
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    NONCE_GROUP_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    snapshot: SnapshotDescription
    nonce_group: int
    nonce: int
    def __init__(self, snapshot: _Optional[_Union[SnapshotDescription, _Mapping[str, object]]] = ..., nonce_group: _Optional[int] = ..., nonce: _Optional[int] = ...) -> None: ...

class GetCompletedSnapshotsResponse(_message.Message):
    __slots__ = ("snapshots",)
    SNAPSHOTS_FIELD_NUMBER: _ClassVar[int]
    snapshots: _containers.RepeatedCompositeFieldContainer[SnapshotDescription]
    def __init__(self, snapshots: _Optional[_Iterable[_Union[SnapshotDescription, _Mapping[str, object]]]] = ...) -> None: ...
