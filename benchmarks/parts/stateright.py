"""A twin of a protocol for stateright, a model checker in Rust: the C functions of SPIN's twin behind stateright's `Model`.

Guards, invariants and updates are compiled from the text that SPIN's verifier has; what searches is stateright as Cargo gets
it. It keeps a 64-bit fingerprint of every state and not the state, so that two states may be taken for one.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from acked.checker.question.question import Question

VERSION = "0.31.0"
PROGRAM = "twin"
"""The checker when it is built; its arguments are `bfs` or `dfs` and a number of threads."""

_MANIFEST = f"""\
[package]
name = "twin"
version = "0.0.0"
edition = "2021"

[dependencies]
stateright = "={VERSION}"

[profile.release]
lto = true
codegen-units = 1
panic = "abort"
"""

_BUILD = 'fn main() { println!("cargo:rustc-link-search={}", std::env::var("CARGO_MANIFEST_DIR").unwrap()); }'

_RUST = """\
use stateright::{Checker, Model, Property};
use std::cell::RefCell;

#[derive(Clone, Debug, Hash, PartialEq)]
#[repr(C)]
struct Packed([u64; WORDS]);

#[repr(C)]
struct Known { count: u16, action: [u16; MOST_ENABLED] }

#[link(name = "protocol", kind = "static")]
extern "C" {
    fn look(state: *const Packed, known: *mut Known) -> i32;
    fn fire_action(state: *mut Packed, action: i32);
}

// A checker asks the properties of a state before its actions, in one thread: what is enabled is kept for it.
thread_local! {
    static KNOWN: RefCell<Known> = const { RefCell::new(Known { count: 0, action: [0; MOST_ENABLED] }) };
}

struct Protocol;

impl Model for Protocol {
    type State = Packed;
    type Action = u16;

    fn init_states(&self) -> Vec<Packed> { vec![Packed(INITIAL)] }

    fn actions(&self, _: &Packed, actions: &mut Vec<u16>) {
        KNOWN.with_borrow(|known| actions.extend_from_slice(&known.action[..known.count as usize]));
    }

    fn next_state(&self, state: &Packed, action: u16) -> Option<Packed> {
        let mut next = state.clone();
        unsafe { fire_action(&mut next, action.into()) };
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("invariants", |_, state| {
            KNOWN.with_borrow_mut(|known| unsafe { look(state, known) == 0 })
        })]
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let checker = Protocol.checker().threads(arguments[2].parse().unwrap());
    let (states, generated, holds) = if arguments[1] == "bfs" {
        let done = checker.spawn_bfs().join();
        (done.unique_state_count(), done.state_count(), done.discoveries().is_empty())
    } else {
        let done = checker.spawn_dfs().join();
        (done.unique_state_count(), done.state_count(), done.discoveries().is_empty())
    };
    println!("{states} states, {generated} generated, errors: {}", if holds { 0 } else { 1 });
}
"""


def build(question: Question, most_enabled: int, compiled: Path, folder: Path, kept: Path) -> bool:
    """Builds the checker in a folder of its own, of the protocol's object file, and what it is made from where that is kept;
    False if Cargo cannot."""
    if shutil.which("cargo") is None:
        return False
    (initial,) = question.initial
    constants = (
        f"const WORDS: usize = {len(initial)};\nconst MOST_ENABLED: usize = {most_enabled};\n"
        f"const INITIAL: [u64; WORDS] = [{', '.join(map(str, initial))}];\n"
    )
    (folder / "src").mkdir()
    (folder / "Cargo.toml").write_text(_MANIFEST)
    (folder / "src" / "main.rs").write_text(constants + _RUST)
    subprocess.run(["ar", "rcs", "libprotocol.a", str(compiled)], cwd=folder, check=True)
    (folder / "build.rs").write_text(_BUILD)
    flags = {"RUSTFLAGS": "-C target-cpu=native", "CARGO_TARGET_DIR": str(kept)}
    command = ["cargo", "build", "--release", "--quiet"]
    if subprocess.run(command, cwd=folder, env={**os.environ, **flags}).returncode != 0:
        return False
    shutil.copy(kept / "release" / PROGRAM, folder)
    return True
