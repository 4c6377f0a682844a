"""The search as WebAssembly: a spec's kernel and loops as modules for a browser, and the script that searches with them.

`module.py` compiles the IR of `checker/native` and `checker/loops`, unchanged, for 64-bit and for 32-bit addresses;
`sections.py` makes a module of LLVM's object, so that no linker is needed. What such a module needs around it is hand-written
JavaScript: `machine.js` for `checker/shards`, `ledger.js` and `traces.js` for the modules of that name, `search.js` for
`checker/search`; `run.js` begins. `script.py` puts them together with what is asked.

Counts, verdicts and traces are those of the native search: one worker, the table with states, the canonical trace.

Floor 5.
"""
