# Succeeds when the process of this role takes connections; where there are gateways, when both answer a question that they must pass to the master, who answers once it is initialized.
# The call is spoken by hand in Thrift's binary protocol (version, length and name of the method, sequence number, no
# arguments): starting a JVM for each check would cost more than everything else HBase does in between.
set -u

# answers PORT METHOD: whether the reply to METHOD, a call without arguments, holds a list and not an exception.
answers() {
  local length reply
  printf -v length '\\x%02x' "${#2}"
  exec 3<>"/dev/tcp/127.0.0.1/$1" || return
  printf "\x80\x01\x00\x01\x00\x00\x00$length$2\x00\x00\x00\x00\x00" >&3
  # Twelve bytes of header and the name come before the first field; type 0f (a list), number 0 is the result.
  reply=$(timeout 4 head -c $((12 + ${#2} + 3)) <&3 | tail -c 3 | od -An -tx1)
  exec 3>&-
  [ "$reply" = " 0f 00 00" ]
}

case ${HBASE_ROLE:-all} in
  zookeeper) exec 3<>"/dev/tcp/$HOSTNAME/2181" ;;
  native) exec 3<>"/dev/tcp/127.0.0.1/16000" && exec 4<>"/dev/tcp/127.0.0.1/16020" ;;
  master) exec 3<>"/dev/tcp/$HOSTNAME/16000" ;;
  regionserver) exec 3<>"/dev/tcp/$HOSTNAME/16020" ;;
  *) answers 9090 getTableNames && answers 9091 listNamespaceDescriptors ;;
esac
