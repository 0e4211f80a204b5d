# Process 1 of the container: makes a realm with a new database, starts its KDC, and HBase.
set -eu

if [ "$(id -u)" = 0 ]; then
  kdb5_util create -s -P "$(head -c 24 /dev/urandom | base64)" >/dev/null
  mkdir /keytabs
  # hbase/other is no server of this HBase; alice asks for pages.
  for principal in hbase/localhost hbase/other alice; do
    kadmin.local addprinc -randkey "$principal" >/dev/null
  done
  kadmin.local ktadd -k /keytabs/hbase.keytab hbase/localhost >/dev/null
  kadmin.local ktadd -k /keytabs/alice.keytab alice >/dev/null
  chown hbase:hbase /keytabs/hbase.keytab /data
  krb5kdc
  chmod a+rx /
  exec setpriv --reuid=hbase --regid=hbase --clear-groups bash "$0"
fi

# Hadoop asks Java's own Kerberos for the realm by reflection.
java() {
  bash <(sed 's,^settings=/opt/hbase$,settings=/opt/kerberos:/opt/hbase,' /opt/hbase/java.sh) \
    --add-exports java.security.jgss/sun.security.krb5=ALL-UNNAMED "-Drpc.protection=$RPC_PROTECTION" "$@"
}
java "-Xmx$HBASE_HEAP" org.apache.hadoop.hbase.master.HMaster start --localRegionServers=1 &
wait -n
