// What the explorer asks its own server: searches, as quick as the machine is.

export class Served {
  constructor(token) {
    this.token = token; // Of every request.
  }

  // `from`: { path }; `wanted`: { predicate } or { promise }. The longer path, or null; and what there is to say.
  find(from, wanted, signal) {
    return this.ask("find", { path: from.path, ...wanted }, signal);
  }

  depth(from) {
    return this.ask("depth", { path: from.path });
  }

  // The answer; `Error` with a sentence if there is none.
  async ask(what, body, signal = null) {
    const headers = { "Content-Type": "application/json", "X-Acked-Token": this.token };
    let answer;
    let result;
    try {
      answer = await fetch(`/api/${what}`, { method: "POST", signal, headers, body: JSON.stringify(body) });
      result = await answer.json();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error("the server does not answer; is `acked explore` still running?");
    }
    if (!answer.ok || result.refused) throw new Error(result.error || result.refused);
    return result;
  }
}
