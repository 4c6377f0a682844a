"""The search as WebAssembly: a spec's kernel and loops as modules for a browser, and the script that searches with them.

`module.py` compiles the IR of `checker/native` and `checker/loops`, unchanged, for 64-bit and for 32-bit addresses;
`sections.py` makes a module of LLVM's object, so that no linker is needed; `search.js`, hand-written and without imports, is
the part of `checker/shards`, `checker/search` and `checker/question/ledger.py` that such a module needs around it;
`script.py` puts the two together with what a question's answer is made of.

Counts, verdicts and traces are those of the native search: one worker, the table with states, the canonical trace.

Floor 4.
"""
