import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * Kafka's own class with one rule of it changed, written below the folder that is the second argument. The first is the rule:
 * Partition: makeLeader resets what it knows of a follower's log if isNewLeaderEpoch, not if isNewLeader.
 * PartitionChangeBuilder: of those that might become eligible leaders, maybePopulateTargetElr keeps the target replicas.
 * LastKnownLeader: where nobody is eligible, PartitionChangeBuilder does not elect the last known leader.
 */
public final class Mend {
    private static final String PARTITION = "kafka/cluster/Partition";
    private static final String BUILDER = "org/apache/kafka/controller/PartitionChangeBuilder";

    private Mend() {
    }

    /** The variable is captured by the function that is called for each replica: its only boolean. */
    private static int resetInNewEpochs(MethodNode method) {
        Map<String, Integer> variables = method.localVariables.stream()
            .filter(one -> one.name.startsWith("isNewLeader")).collect(Collectors.toMap(one -> one.name, one -> one.index));
        int count = 0;
        for (AbstractInsnNode made : method.instructions) {
            if (made instanceof InvokeDynamicInsnNode && ((InvokeDynamicInsnNode) made).desc.startsWith("(JJZ")) {
                AbstractInsnNode load = made;
                while (load.getOpcode() != Opcodes.ILOAD) {
                    load = load.getPrevious();
                }
                if (((VarInsnNode) load).var == variables.get("isNewLeader")) {
                    ((VarInsnNode) load).var = variables.get("isNewLeaderEpoch");
                    count++;
                }
            }
        }
        return count;
    }

    /** candidateSet.retainAll(targetReplicas), as soon as the set has the current ISR. */
    private static int eligibleAreReplicas(MethodNode method) {
        int candidates = method.localVariables.stream().filter(one -> one.name.equals("candidateSet")).findFirst().get().index;
        int count = 0;
        for (AbstractInsnNode call : method.instructions.toArray()) {
            if (call instanceof MethodInsnNode && ((MethodInsnNode) call).name.equals("forEach")) {
                InsnList added = new InsnList();
                added.add(new VarInsnNode(Opcodes.ALOAD, candidates));
                added.add(new VarInsnNode(Opcodes.ALOAD, 0));
                added.add(new FieldInsnNode(Opcodes.GETFIELD, BUILDER, "targetReplicas", "Ljava/util/List;"));
                added.add(new MethodInsnNode(Opcodes.INVOKEINTERFACE, "java/util/Set", "retainAll", "(Ljava/util/Collection;)Z", true));
                added.add(new InsnNode(Opcodes.POP));
                method.instructions.insert(call, added);
                count++;
            }
        }
        return count;
    }

    /** return false. */
    private static int refuses(MethodNode method) {
        method.instructions.clear();
        method.localVariables.clear();
        method.instructions.add(new InsnNode(Opcodes.ICONST_0));
        method.instructions.add(new InsnNode(Opcodes.IRETURN));
        return 1;
    }

    private static int mended(String rule, MethodNode method) {
        switch (rule) {
            case "Partition":
                return method.name.contains("makeLeader") ? resetInNewEpochs(method) : 0;
            case "PartitionChangeBuilder":
                return method.name.equals("maybePopulateTargetElr") ? eligibleAreReplicas(method) : 0;
            case "LastKnownLeader":
                return method.name.equals("canElectLastKnownLeader") ? refuses(method) : 0;
            default:
                throw new IllegalArgumentException(rule);
        }
    }

    public static void main(String[] arguments) throws Exception {
        String name = arguments[0].equals("Partition") ? PARTITION : BUILDER;
        ClassNode found = new ClassNode();
        ClassWriter writer;
        try (InputStream kafka = ClassLoader.getSystemResourceAsStream(name + ".class")) {
            ClassReader reader = new ClassReader(kafka);
            reader.accept(found, 0);
            writer = new ClassWriter(reader, 0);
        }
        int count = found.methods.stream().mapToInt(method -> mended(arguments[0], method)).sum();
        if (count != 1) {
            throw new IllegalStateException(name + " has the rule in " + count + " places; 1 is known");
        }
        found.accept(writer);
        Path file = Path.of(arguments[1], name + ".class");
        Files.createDirectories(file.getParent());
        Files.write(file, writer.toByteArray());
    }
}
