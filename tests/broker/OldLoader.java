// What the Scala group coordinator of a release (up to 3.9) makes of partitions, without a broker around it: it reads
// every record with the release's own readers, in the order in which its loader calls them.
// OldLoader LOG_DIR: a line for each __consumer_offsets-N in it, "N loads" or "N fails: exception".

import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.kafka.common.record.ControlRecordType;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.Record;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.utils.Time;

public class OldLoader {
    public static void main(String[] args) throws Exception {
        File[] partitions = new File(args[0]).listFiles((dir, name) -> name.startsWith("__consumer_offsets-"));
        Arrays.sort(partitions);
        for (File partition : partitions) {
            String number = partition.getName().substring("__consumer_offsets-".length());
            try {
                File[] segments = partition.listFiles((dir, name) -> name.endsWith(".log"));
                Arrays.sort(segments);
                for (File segment : segments) load(segment);
                System.out.println(number + " loads");
            } catch (Throwable failure) {
                String why = failure.toString().split("\n")[0];
                System.out.println(number + " fails: " + why);
            }
        }
    }

    static void load(File segment) throws Throwable {
        try (FileRecords records = FileRecords.open(segment, false)) {
            for (RecordBatch batch : records.batches()) {
                if (batch.isControlBatch()) {
                    // A cleaned one may be empty.
                    if (batch.iterator().hasNext()) ControlRecordType.parse(batch.iterator().next().key());
                    continue;
                }
                for (Record record : batch) read(record);
            }
        }
    }

    static void read(Record record) throws Throwable {
        if (!record.hasKey()) throw new IllegalArgumentException("no key");
        Object key = call("readMessageKey", record.key());
        switch (key.getClass().getSimpleName()) {
            case "OffsetKey":
                if (record.hasValue()) call("readOffsetMessageValue", record.value());
                break;
            case "GroupMetadataKey":
                call("readGroupMessageValue", key.getClass().getMethod("key").invoke(key), record.value(), Time.SYSTEM);
                break;
            default: // passed over
        }
    }

    static Object call(String name, Object... args) throws Throwable {
        for (Method method : Class.forName("kafka.coordinator.group.GroupMetadataManager").getMethods()) {
            if (!method.getName().equals(name)) continue;
            try {
                return method.invoke(null, args);
            } catch (InvocationTargetException failure) {
                throw failure.getCause();
            }
        }
        throw new IllegalStateException("no " + name);
    }
}
