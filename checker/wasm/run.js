// Where the script of a question begins: in a worker it waits for the options of `search` and tells progress, then the answer or
// why there is none; Node prints the answer.

async function answerPage({ data }) {
  try {
    const answer = await search(SPEC, (progress) => postMessage({ progress }), data);
    postMessage({ answer: { ...answer, words: inWords(answer) } });
  } catch (error) {
    postMessage({ refusal: whyNot(error) });
  }
}

async function answerTerminal(bits) {
  const answer = await search(SPEC, undefined, { bits });
  const lines = [inWords(answer), `${answer.levels.length} levels, ${answer.generated.toLocaleString("en-US")} generated, ${answer.seconds.toFixed(2)} s, ${Math.round(answer.bytes / 1e6)} MB`];
  for (const item of answer.violations) lines.push(`${item.property}:`, ...item.actions.map((action, at) => `  ${at + 1}. ${SPEC.actions[action]}`));
  console.log(lines.join("\n"));
}

if (typeof WorkerGlobalScope !== "undefined") onmessage = answerPage;
else if (typeof process !== "undefined") {
  answerTerminal(process.argv[2]).catch((error) => {
    console.error(whyNot(error));
    process.exitCode = 1;
  });
}
