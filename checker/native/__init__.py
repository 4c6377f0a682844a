"""Machine code for guards, successors and loops.

Two kinds of code
-----------------
What depends on the protocol is made from its expressions (`kernel.py`): `unpack` and `guards` (`slices.py`), and one `fire_k`
per action instance; with symmetry `representatives`, too (`representatives.py`). It takes seconds to compile, so a question
begins with a *program* (`programs.py`), formulas of single bits that the loops compute (`loops/formulas.py`), a bit of a
whole batch by every step. What does not depend on the protocol is written once in `checker/loops`, in a subset of Python that
is translated to the same LLVM IR (`language.py` has the subset, `translator.py` the translation): the visited sets
(`table.py`, `quotient.py`), the loops of a search (`expansion.py`), of traces and differences (`backward.py`), of random runs
(`walks.py`), of searches over several processes (`exchange.py`), and of those whose visited states are on disk
(`delayed.py`). The only literals that these are compiled with are W, the number of 64-bit words of a packed state, the bytes
of one in a file, and the layout of a line. A kernel is compiled in pieces while a long search goes on with its program: that of
guards, and one for some actions each (`compile.py`). The search uses each as it comes, for the rest its program; one that is
asked again goes on with what there is. The loops, which all searches share, are compiled in two tiers: the first searches on a
machine have some that take a quarter of the time to compile, and one of many millions of states has them optimized, for
itself and all that follow (`search/tiers.py`). `machine.py` has the processor at hand, and LLVM; object files are loaded
without it where that can be (`linking.py`).

The way of a batch
------------------
A *shard* (`checker/shards`) is what one worker found: an append-only array of packed states, in order of discovery and so of
levels. The array is the queue of the breadth-first search. A worker claims BATCH states of the level, its own or another
worker's, and:

1. *unpack* turns the square of states and their bits, so that a word has one bit of 64 states, and
2. *guards* decides all actions' guards and all state properties for so many states by each instruction, as formulas of single
   bits (`bits.py`), into ROWS: a row of bits per action (enabled?), then one per property (violated?). The rows of the
   properties are read first (`note_states`).
3. *deal* lists the one bits of an action's row, the numbers of the states in which it is enabled, into LIST (where the
   processor packs chosen numbers of a vector, without a branch: `words.py`), and
4. *fire* makes the successors of the listed states under that action, one after the other into OUT; checks of steps that
   fail become FLAGS. With symmetry, `represent` then replaces every successor by the representative of its orbit.
5. *absorb* looks every successor up in the table and appends those that are new to the worker's own array.

A row of guards is read as bits and not state by state because most actions are enabled in few states: a batch costs what is
enabled, not actions times states. `batches` and `fire_each` are this sequence for every loop that is not the search itself.

The table without states
------------------------
A search that has become large, and that asks only which states can be
reached and how they break something, goes on with no states but those of two levels (`compact.py`; a level's memory is
given back while it is expanded), and so has room for nearly twice as many. It begins with states, because code for this is
loaded in the time of a small search. A task of Spark does the same for its part of the states: owners are told apart by the
last bits of a hash, lines by the first. Its table is a *quotient table* (Cleary: Compact hash tables using bidirectional
linear probing, IEEE Transactions on Computers, 1984): the place of an entry tells a part of the state, and the entry has
the rest. `hash_state` is a bijection of the first word, given the others, so a state is its hash and its other words. The
upper half of the hash, times the number of lines, is a line and an *offset* in it; an entry has the offset, the lower half
of the hash, the other words, the *displacement* (how many lines from its own it stands), and the *level* it was found on.
`lines.py` has which bits these are. These hold at every moment:

- *Exact.* Line, offset and the rest give the state back (`restore`), so entries that agree are of one state; nothing is
  compared that might be the same of two. No state is ever read to decide.
- *An entry never moves or leaves* while workers are at it.
- *First room.* An entry stands in the first free slot of the first line with room from its own on. A lookup ends at the
  first line with a free slot.
- *The field before the word.* An entry is a word, whose lowest bit is one, and a field of other words of the line, whose
  level is never zero. A worker takes a slot by a compare and swap of the field, from nothing, and then writes the word.
  Whoever would take a slot whose field is taken waits until there is a word, which the worker that took it is about to
  write: nobody waits for one that waits. So two workers with one state want the same slot, the processor gives it to one,
  and the other finds the word: nothing is lost or doubled. One locked instruction costs as much as a look into the cache.

The whole table gets its next layout in place, while nobody looks anything up (`growth.py`): from the end, every entry is
taken out, given back its hash, and put where that belongs among more lines. It doubles while there is memory, because then
the first bit of an entry's offset becomes the last of its line's number, and nothing has to be computed. The more lines,
the fewer bits an entry needs, and the more slots a line may have. Traces are walked back by levels: `collect` lists the
states of one from the table.

Where the candidates of a block stand if they are known is computed with vectors, while the lines of the block before are
read. `absorb` tells those that are known by no branch, because whether a state is new is as good as random; the others are
then inserted one by one, into the slot that was seen free if it still is.

The table with states
---------------------
Every search begins with it. What asks for the graph of all states needs them by
number, and states too wide for a slot are better kept apart. All workers look into one hash table (Laarman, van de Pol,
Weber: Boosting multi-core reachability performance with shared hash tables, FMCAD 2010). It has as many parts as there are
workers, and the hash says in which part a state is looked for. A part is an array of buckets of eight 64-bit slots, a cache
line each. A slot is 0 or `tag << 32 | index + 1`: the 32 upper bits of the hash, and where the state stands among all
workers' states. These hold at every moment:

- *Exact.* A tag that agrees is always confirmed against the whole state. Tags save time, never a comparison that matters.
- *An entry never moves or leaves* while workers are at it. So what a worker saw stays true, and may only have been added
  to.
- *First room.* An entry stands in the first bucket with room from its home `tag * buckets >> 32` on, in the first slot that
  was free. A lookup ends at the first bucket that has a free slot; nothing beyond it can be the state.
- *The last bucket of the padding stays empty*, so that no lookup runs out of its part.
- *The state is written before its entry*, and an entry is published by a compare and swap, so a reader of an entry reads a
  state.

Two workers that found the same state want the same slot: the first one that is free in the first bucket with room. That is
why a *compare and swap* suffices instead of a lock: the processor gives the slot to one of them, and the other looks at the
bucket again, where it finds either its own state, and is done, or another one, and takes the next slot. One worker alone
needs none.

Homes ascend with tags, so a part grows in place, by any factor, in one sweep from its end, without looking at a state
(`grow`). Each worker does that for one part, while nobody looks anything up.

Memory latency is what a search costs, so `absorb` looks at each candidate three times, each look prefetching what the next
one reads: the home; then the state that a matching tag points to; then the comparison. FAR and AHEAD are the distances.

Traps
-----
- *Room is booked before it is used.* Workers share one limit (LIMIT, BOOKED); each books room for what it may insert and
  gives back what turned out to be known. Without it several workers could fill the table together. What finds no room is
  deferred (DEFERRED), not lost: the search grows the table between two calls and the worker inserts it then.
- *Whether a level fits must not depend on who was first.* At the budget workers insert their deferred candidates one after
  the other, because each alone keeps room that another needs.
- *Lists are padded.* `fire_k` of the optimized tier handles FIRE_GROUP states at a time, and `represent` GROUP: a list is
  filled up by repeating its last entry, and OUT, LIST and FLAGS have that much room to spare.
- *FLAGS are written only by actions that have checks*; of all others they are what an earlier action left.
- *Only what is counted may depend on workers.* Indices, arrays and the order of states differ from run to run; counts and
  the least violations (`note_states`, `note_source`) do not.
- *Nothing is checked here*: neither bounds nor overflows nor the type behind an address. `Shard` sizes everything.
- *A Ctrl-C waits* for the native call at hand, so a call is short (CHUNK states), and LLVM compiles in a thread of its own.

Floor 4.
"""
