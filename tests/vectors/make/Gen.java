// Makes streams-VERSION.txt: compile against the jars of that version (kafka-clients, kafka-streams, slf4j), run, take stdout.
package org.apache.kafka.streams.processor.internals.assignment;
import java.util.*; import java.nio.ByteBuffer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.assignment.ProcessId;
import org.apache.kafka.streams.state.HostInfo;
import org.apache.kafka.streams.processor.internals.*;
public class Gen {
  static String b(ByteBuffer x){ byte[] o=new byte[x.remaining()]; x.duplicate().get(o); return Base64.getEncoder().encodeToString(o); }
  public static void main(String[] a) throws Exception {
    for (int v=1; v<=11; v++) {
      Map<TaskId,Long> sums=new LinkedHashMap<>();
      sums.put(new TaskId(0,1,v>=10?"nt":null), -2L); sums.put(new TaskId(3,4,null), 1234567890123L); sums.put(new TaskId(3,5,null), 0L);
      Map<String,String> tags=new LinkedHashMap<>(); tags.put("zone","z1");
      if (v<10) { sums.remove(new TaskId(0,1,"nt")); }
      SubscriptionInfo s=new SubscriptionInfo(v,11,new ProcessId(new UUID(0x0102030405060708L,0x090a0b0c0d0e0f10L)),"host:80",sums,(byte)7,v>=9?5:0,tags);
      System.out.println("subscription "+v+" "+b(s.encode()));
      List<TaskId> act=List.of(new TaskId(0,1,v>=10?"nt\u20ac":null),new TaskId(3,4));
      Map<TaskId,Set<TopicPartition>> st=new LinkedHashMap<>(); st.put(new TaskId(1,2),new LinkedHashSet<>(List.of(new TopicPartition("orders",2),new TopicPartition("pay",2))));
      Map<HostInfo,Set<TopicPartition>> h1=new LinkedHashMap<>(), h2=new LinkedHashMap<>();
      h1.put(new HostInfo("host-a",80),new LinkedHashSet<>(List.of(new TopicPartition("orders",1)))); h1.put(new HostInfo("host-b",81),new LinkedHashSet<>());
      h2.put(new HostInfo("host-b",81),new LinkedHashSet<>(List.of(new TopicPartition("orders",2))));
      AssignmentInfo i=new AssignmentInfo(v,11,act,st,h1,h2,v>=4?2:0); i.setNextRebalanceTime(1790000000000L);
      System.out.println("assignment "+v+" "+b(i.encode()));
    }
    AssignmentInfo e=new AssignmentInfo(11,11,List.of(),Map.of(),Map.of(),Map.of(),0); System.out.println("assignment-empty 11 "+b(e.encode()));
    System.out.println("commit 2 "+new TopicPartitionMetadata(1790000000000L,new ProcessorMetadata()).encode());
    Map<String,Long> m=new LinkedHashMap<>(); m.put("k1",7L); m.put("p\u00e9",-1L);
    System.out.println("commit-map 2 "+new TopicPartitionMetadata(-1L,new ProcessorMetadata(m)).encode());
    for (String t : a) { var d=TopicPartitionMetadata.decode(t); System.err.println(t+" -> "+d.partitionTime()); }
  }
}
