"""What runs in a z3 process, and what is sent to it.

A solver process is given one `Problem` (`problem.py`): the leaves of the state, every action instance as a guard and new
values, the initial states, and the claims, all of them rows of numbers that are rebuilt there. Then it is given tasks
(`tasks.py`), one after the other, and answers each: steps of an induction (`step_proof.py`) or a bounded search
(`unrolling.py`). What was lowered to bit-vectors for one task serves the next (`terms.py`). `checker/allconstants` has an
engine of its own in the same kind of process; its tasks, limits and lemma sets are those of this package.

**An obligation.** For an action instance, assume the domains of all fields, every claim that is assumed, and the guard; ask
for a state in which a goal fails after the step. The state after the step has no variables of its own: a goal is rewritten
over the state before (`LoweredProblem.after`), and a goal that comes out as it went in, or folds to true, is never asked.
That is most of them, and the reason why there is a pool of expressions on this side.

**Conjuncts** (`conjuncts.py`). A large goal is asked conjunct by conjunct, because each is easier to prove than all at once.
Where ids may be renamed, a conjunct that a renaming takes to another one stands for it, if the renaming leaves the step as it
is. Both are checked, never assumed: the invariant is that the conjuncts asked, with their images under the renamings that fix
the step, are all conjuncts.

**Unsat cores as lemma sets** (`lemma_sets.py`). What z3 needed for a goal is its unsat core over one label per assumed claim,
made smaller by leaving out one label at a time. Kept in a file beside the lemmas, it is tried first the next time. A set is a
hint: if the goal does not follow from it, the goal is put to all assumed claims together, and a stale or edited file costs
time.

**Limits** (`queries.py`). Seconds bound a query for the user's sake. Where the answer may depend on when z3 gives up (which
counterexample is shown, whether conjuncts are asked in parts), the limit is z3's own count of steps (`rlimit`), which is the
same on every machine; nothing that is printed may depend on how busy the machine is.

**Traps.**

- "unknown" is neither answer. It leaves the obligation open, with z3's reason, and is never taken for "unsat".
- The width of the bit-vectors is that of the widest expression so far. A wider one begins all frames anew
  (`LoweredProblem.prepare`), and terms of the old frames must not be mixed with new ones: prepare everything first.
- `rlimit` and `timeout` stay set on a solver: a query of another kind wants another solver.
- Files for other solvers are SMT-LIB to the letter: an "or" of one operand is not, which is what `some_of` is for.
- A process that runs out of memory or time is killed with its task; `base/processes.py` replaces it, and the task counts
  as undecided. So an answer must be complete in itself, and nothing is kept that another process would need.

Floor 7.
"""
