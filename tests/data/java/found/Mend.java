import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.FrameNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TypeInsnNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * Kafka's own class with one rule of it changed, written below the folder that is the second argument. The first is the rule:
 * Partition: makeLeader resets what it knows of a follower's log if isNewLeaderEpoch, not if isNewLeader.
 * ReplicaOfEpoch: Partition has other Replicas in each leader epoch, and only the one that it has now may join the ISR.
 * PartitionChangeBuilder: of those that might become eligible leaders, maybePopulateTargetElr keeps the target replicas.
 * LastKnownLeader: where nobody is eligible, PartitionChangeBuilder does not elect the last known leader.
 * OwnLoad: CoordinatorContext completes no load but that of the context which began it.
 */
public final class Mend {
    private static final String PARTITION = "kafka/cluster/Partition";
    private static final String BUILDER = "org/apache/kafka/controller/PartitionChangeBuilder";

    private static final String CONTEXT = "org/apache/kafka/coordinator/common/runtime/CoordinatorRuntime$CoordinatorContext";

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

    /** if (isNewLeaderEpoch) remoteReplicasMap.clear(), before those of the assignment are added. */
    private static int forgetsReplicas(ClassNode partition, MethodNode method) {
        int isNew = method.localVariables.stream().filter(one -> one.name.equals("isNewLeaderEpoch"))
            .mapToInt(one -> one.index).findFirst().orElse(-1);
        int count = 0;
        for (AbstractInsnNode stored : method.instructions.toArray()) {
            if (stored.getOpcode() == Opcodes.ISTORE && ((VarInsnNode) stored).var == isNew) {
                MethodNode own = new MethodNode(Opcodes.ACC_STATIC, "forgetReplicas", "(L" + PARTITION + ";Z)V", null, null);
                InsnList added = new InsnList();
                added.add(new VarInsnNode(Opcodes.ALOAD, 0));
                added.add(new VarInsnNode(Opcodes.ILOAD, isNew));
                added.add(new MethodInsnNode(Opcodes.INVOKESTATIC, PARTITION, own.name, own.desc, false));
                method.instructions.insert(stored, added);
                clearsIfAsked(own, called(partition, "remoteReplicasMap"), called(partition, "clear"));
                partition.methods.add(own);
                count++;
            }
        }
        return count;
    }

    private static void clearsIfAsked(MethodNode own, AbstractInsnNode map, AbstractInsnNode clear) {
        LabelNode end = new LabelNode();
        own.instructions.add(new VarInsnNode(Opcodes.ILOAD, 1));
        own.instructions.add(new JumpInsnNode(Opcodes.IFEQ, end));
        own.instructions.add(new VarInsnNode(Opcodes.ALOAD, 0));
        own.instructions.add(map);
        own.instructions.add(clear);
        own.instructions.add(end);
        own.instructions.add(new FrameNode(Opcodes.F_SAME, 0, null, 0, null));
        own.instructions.add(new InsnNode(Opcodes.RETURN));
        own.maxStack = 1;
        own.maxLocals = 2;
    }

    /** A call as Partition's own method clear() has it. */
    private static AbstractInsnNode called(ClassNode partition, String name) {
        MethodNode clear = partition.methods.stream().filter(one -> one.name.equals("clear")).findFirst().get();
        return Stream.of(clear.instructions.toArray())
            .filter(one -> one instanceof MethodInsnNode && ((MethodInsnNode) one).name.equals(name))
            .findFirst().get().clone(Map.of());
    }

    /** followerReplica = getReplica(followerReplica.brokerId).get, which was asked for under the same lock before. */
    private static int looksAtItsOwn(MethodNode method) {
        String replica = Type.getArgumentTypes(method.desc)[0].getInternalName();
        InsnList added = new InsnList();
        added.add(new VarInsnNode(Opcodes.ALOAD, 0));
        added.add(new VarInsnNode(Opcodes.ALOAD, 1));
        added.add(new MethodInsnNode(Opcodes.INVOKEVIRTUAL, replica, "brokerId", "()I", false));
        added.add(new MethodInsnNode(Opcodes.INVOKEVIRTUAL, PARTITION, "getReplica", "(I)Lscala/Option;", false));
        added.add(new MethodInsnNode(Opcodes.INVOKEVIRTUAL, "scala/Option", "get", "()Ljava/lang/Object;", false));
        added.add(new TypeInsnNode(Opcodes.CHECKCAST, replica));
        added.add(new VarInsnNode(Opcodes.ASTORE, 1));
        method.instructions.insert(added);
        return 1;
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

    /** if (context == this), not if (context != null), of the context that the partition has now: what is asked first. */
    private static int completesItsOwn(MethodNode method) {
        for (AbstractInsnNode jump : method.instructions) {
            if (jump.getOpcode() == Opcodes.IFNULL) {
                method.instructions.insertBefore(jump, new VarInsnNode(Opcodes.ALOAD, 0));
                ((JumpInsnNode) jump).setOpcode(Opcodes.IF_ACMPNE);
                return 1;
            }
        }
        return 0;
    }

    private static int mended(String rule, ClassNode owner, MethodNode method) {
        switch (rule) {
            case "Partition":
                return method.name.contains("makeLeader") ? resetInNewEpochs(method) : 0;
            case "ReplicaOfEpoch":
                return method.name.contains("makeLeader") ? forgetsReplicas(owner, method)
                    : method.name.equals("isFollowerInSync") ? looksAtItsOwn(method) : 0;
            case "PartitionChangeBuilder":
                return method.name.equals("maybePopulateTargetElr") ? eligibleAreReplicas(method) : 0;
            case "LastKnownLeader":
                return method.name.equals("canElectLastKnownLeader") ? refuses(method) : 0;
            case "OwnLoad":
                return method.name.startsWith("lambda$load$") ? completesItsOwn(method) : 0;
            default:
                throw new IllegalArgumentException(rule);
        }
    }

    public static void main(String[] arguments) throws Exception {
        int known = arguments[0].equals("ReplicaOfEpoch") ? 2 : 1;
        String name = known == 2 || arguments[0].equals("Partition") ? PARTITION
            : arguments[0].equals("OwnLoad") ? CONTEXT : BUILDER;
        ClassNode found = new ClassNode();
        ClassWriter writer;
        try (InputStream kafka = ClassLoader.getSystemResourceAsStream(name + ".class")) {
            ClassReader reader = new ClassReader(kafka);
            reader.accept(found, 0);
            writer = new ClassWriter(reader, 0);
        }
        int count = List.copyOf(found.methods).stream().mapToInt(method -> mended(arguments[0], found, method)).sum();
        if (count != known) {
            throw new IllegalStateException(name + " has the rule in " + count + " places; " + known + " are known");
        }
        found.accept(writer);
        Path file = Path.of(arguments[1], name + ".class");
        Files.createDirectories(file.getParent());
        Files.write(file, writer.toByteArray());
    }
}
