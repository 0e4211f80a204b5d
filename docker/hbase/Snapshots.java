import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.SnapshotDescription;

/**
 * Lines for HBase's shell about snapshots, one after another until one fails, for tests: the image has no shell.
 *
 * `bash /opt/hbase/java.sh Snapshots LINES`, with lines such as snapshot 'table', 'name'. What begins with # is a remark.
 */
public final class Snapshots {
  public static void main(String[] arguments) throws Exception {
    Configuration settings = HBaseConfiguration.create();
    // How often it asks whether a step is done; with the default of 100 ms it soon asks every few seconds.
    settings.setLong("hbase.client.pause", 10);
    try (Connection connection = ConnectionFactory.createConnection(settings);
        Admin admin = connection.getAdmin()) {
      for (String line : arguments[0].split("\n")) {
        if (!line.isBlank() && !line.startsWith("#")) {
          run(admin, line);
        }
      }
    }
  }

  private static void run(Admin admin, String line) throws Exception {
    // Behind the command and between the names: "snapshot ", "table", ", ", "name".
    String[] parts = line.split("'");
    String first = parts[1];
    switch (parts[0].strip()) {
      case "snapshot" -> admin.snapshot(parts[3], TableName.valueOf(first));
      case "list_snapshots" -> list(admin, first);
      case "disable" -> admin.disableTable(TableName.valueOf(first));
      case "enable" -> admin.enableTable(TableName.valueOf(first));
      case "restore_snapshot" -> admin.restoreSnapshot(first);
      case "clone_snapshot" -> admin.cloneSnapshot(first, TableName.valueOf(parts[3]));
      case "delete_snapshot" -> admin.deleteSnapshot(first);
      default -> throw new IllegalArgumentException("no command for snapshots: " + line);
    }
  }

  private static void list(Admin admin, String pattern) throws Exception {
    for (SnapshotDescription each : admin.listSnapshots(Pattern.compile(pattern))) {
      System.out.println(" " + each.getName() + " " + each.getTableNameAsString());
    }
  }
}
