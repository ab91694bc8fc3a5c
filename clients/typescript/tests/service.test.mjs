// The client against a real service, whose address and admin key are in CODE_SANDBOX_URL and CODE_SANDBOX_KEY, and the
// same at BREAKING_URL by a way that breaks.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { ApiError, Client, imagesOf, runAsText } from "@code-sandbox/client";

const client = new Client();
const AGENT = "ts-notebook";
const text = (bytes) => new TextDecoder().decode(bytes);

async function all(list) {
  const found = [];
  for await (const one of list) {
    found.push(one);
  }
  return found;
}

after(async () => {
  await client.agents.delete(AGENT).catch(() => undefined);
});

test("a run with everything", async () => {
  const run = await client.run(
    `
import sys
import pandas as pd
import matplotlib.pyplot as plt
sales = pd.read_csv("in/sales.csv")
plt.plot(sales.amount); plt.show()
print(input()); print("é", file=sys.stderr)
open("out.bin", "wb").write(bytes([0, 255]))
sales.amount.sum() + len(open("b.bin", "rb").read())
`,
    {
      files: { "in/sales.csv": "city,amount\nOslo,4\nRome,8\n", "b.bin": new Uint8Array([255, 254]) },
      stdin: "given\n",
      timeout_s: 30,
    },
  );
  assert.equal(run.outcome, "ok", JSON.stringify(run));
  assert.deepEqual([run.stdout, run.stderr], ["given\n", "é\n"]);
  assert.equal(run.results.at(-1)["text/plain"], "np.int64(14)");
  assert.deepEqual(imagesOf(run)[0].subarray(1, 4), new TextEncoder().encode("PNG"));
  assert.deepEqual(await client.files.get(run.files[0]), new Uint8Array([0, 255]));
  assert.ok(run.usage.wall_ms > 0);
  assert.match(runAsText(run), /1 chart was drawn.*out\.bin \(2 bytes\)/s);
});

test("a failed run is a result, a wrong request is not", async () => {
  const run = await client.run("import requests");
  assert.equal(run.outcome, "error");
  assert.match(run.hint, /requests/);
  await assert.rejects(client.run("1", { timeout_s: 90 }), (error) => {
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.status, error.type, error.param], [400, "invalid_request", "timeout_s"]);
    return /^req_|./.test(error.requestId);
  });
  await assert.rejects(new Client({ key: "csk_wrong" }).environment(), { status: 401, type: "unauthorized" });
});

test("a stream, while it happens", async () => {
  const times = {};
  let last;
  for await (const event of client.stream('import time; print("a", flush=True); time.sleep(1); print("b")\n6 * 7')) {
    times[event.type] ??= Date.now();
    last = event;
  }
  assert.deepEqual(Object.keys(times), ["start", "stdout", "result", "done"]);
  assert.ok(times.done - times.stdout > 800);
  assert.equal(last.run.stdout, "a\nb\n");
});

test("to leave a stream, or a signal, ends the run", async () => {
  const running = async () =>
    (await (await fetch(`${process.env.CODE_SANDBOX_URL}/metrics`)).text()).match(/^sandbox_runs_active (\d+)/m)[1];
  const calm = async () => {
    for (let tries = 0; (await running()) !== "0"; tries++) {
      assert.ok(tries < 100, "it runs on");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const code = 'print("up", flush=True)\nimport time; time.sleep(30)';
  for await (const event of client.stream(code)) {
    if (event.type === "stdout") {
      assert.equal(await running(), "1");
      break;
    }
  }
  await calm();
  await assert.rejects(client.run(code, { signal: AbortSignal.timeout(500) }), { name: "TimeoutError" });
  await calm();
});

test("conversations, their files and runs", async () => {
  const id = "ts-talk";
  const first = await client.run(
    'open("a/b c.txt", "w").write("first") if __import__("os").makedirs("a") is None else 0',
    { conversation_id: id },
  );
  assert.equal(first.conversation_id, id);
  const [file] = await all(client.files.list(id));
  assert.equal(file.name, "a/b c.txt");
  assert.equal(text(await client.files.get(file)), "first");
  const second = await client.run('print(open("a.txt").read())', { conversation_id: id, files: { "a.txt": file } });
  assert.equal(second.stdout, "first\n");
  assert.deepEqual(
    (await all(client.conversations.runs(id))).map((run) => run.run_id),
    [first.run_id, second.run_id],
  );
  assert.equal((await client.conversations.run(second.run_id)).code, 'print(open("a.txt").read())');
  assert.equal((await client.conversations.get(id)).run_count, 2);
  assert.ok((await all(client.conversations.list({ text: "ts-ta" }))).some((one) => one.conversation_id === id));
  await client.conversations.delete(id);
  await assert.rejects(client.conversations.get(id), { status: 404 });
});

test("agents, their settings and sessions", async () => {
  assert.equal((await client.agents.put(AGENT)).name, AGENT);
  assert.deepEqual(await client.agents.setEnv(AGENT, "CODE_INTERPRETER_SESSION", "true"), []);
  assert.equal((await client.agents.env(AGENT)).env.CODE_INTERPRETER_SESSION, "true");
  assert.equal((await client.agents.get(AGENT)).stateful, true);
  assert.ok((await all(client.agents.list())).some((agent) => agent.name === AGENT));
  const on = { agent: AGENT, conversation_id: "ts-session" };
  await client.run("x = 41", on);
  const run = await client.run("x + 1", on);
  assert.equal(run.results[0]["text/plain"], "42");
  assert.ok(run.session.stateful);
  assert.ok((await client.sessions.list()).some((session) => session.conversation_id === "ts-session"));
  assert.equal(await client.sessions.end("ts-session"), true);
  const described = await client.describeRunPython("anthropic", { agent: AGENT });
  assert.deepEqual(described.input_schema.required, ["code"]);
  await client.conversations.delete("ts-session");
  await client.agents.deleteEnv(AGENT, "CODE_INTERPRETER_SESSION");
  assert.deepEqual((await client.agents.env(AGENT)).env, {});
});

test("a tool that is not there", async () => {
  await assert.rejects(client.call("find", { n: 1 }, { agent: "ts-nobody" }), { status: 404, param: "agent" });
});

test("a way that breaks", async () => {
  assert.equal((await client.environment()).idempotency_key, true);
  const broken = new Client({ url: process.env.BREAKING_URL });
  const code = "import time; open('log', 'a').write('x'); time.sleep(0.5); print(len(open('log').read()))";
  const run = await broken.run(code, { conversation_id: "ts-broken", idempotencyKey: "auto" });
  assert.equal(run.stdout, "1\n");
  assert.equal((await all(client.conversations.runs("ts-broken"))).length, 1);
  await client.conversations.delete("ts-broken");
});

test("the example", async () => {
  const folder = await mkdtemp(join(tmpdir(), "report-"));
  try {
    await writeFile(join(folder, "sales.csv"), "city,amount\nOslo,4\nRome,3\nRome,5\n");
    const program = new URL("../examples/report.mjs", import.meta.url).pathname;
    const { stdout } = await promisify(execFile)(process.execPath, [
      program,
      join(folder, "sales.csv"),
      join(folder, "out"),
    ]);
    assert.match(stdout, /Rome +8/);
    assert.match(stdout, /1 file and 1 chart/);
    assert.deepEqual((await readdir(join(folder, "out"))).sort(), ["chart-1.png", "totals.csv"]);
    assert.equal(await readFile(join(folder, "out", "totals.csv"), "utf8"), "city,amount\nOslo,4\nRome,8\n");
  } finally {
    await rm(folder, { recursive: true });
  }
});
