// What the client sends, and what it does when things go wrong, against a server that answers as it is told to.
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { afterEach, beforeEach, test } from "node:test";
import { ApiError, Client, CodeSandboxError, ConnectionFailed, imagesOf, runAsText } from "@code-sandbox/client";
import { busy, ENVIRONMENT, event, KEY, Platform, refusal, RUN, runReply } from "./platform.mjs";

let platform, client;

beforeEach(async () => {
  platform = await Platform.start();
  client = new Client({ url: platform.url, key: KEY });
});

afterEach(() => platform.close());

const START = event("start", { run_id: "run_1", sandbox_id: "sbx_1" });
const HELLO = event("stdout", { text: "hello" });
const DONE = event("done", runReply({ stdout: "hello" }));

async function told(stream) {
  const names = [];
  for await (const one of stream) {
    names.push(one.type);
  }
  return names;
}

const sent = (number = -1) => JSON.parse(platform.requests.at(number).raw);

// ---- what is sent

test("the least", async () => {
  platform.on(RUN, runReply());
  await client.run("1");
  assert.deepEqual(sent(), { code: "1" });
  const { headers } = platform.requests[0];
  assert.equal(headers.authorization, `Bearer ${KEY}`);
  assert.equal(headers["content-type"], "application/json");
  assert.equal(headers["idempotency-key"], undefined);
});

test("everything", async () => {
  platform.on(RUN, runReply());
  client = new Client({ url: `${platform.url}/`, key: KEY, agent: "shop", project: "p" });
  const files = { "a.txt": "é", "b.bin": new Uint8Array([0, 255]), c: { file_id: "file_1" } };
  await client.run("1", {
    conversation_id: "talk",
    timeout_s: 0.5,
    files,
    stdin: "in",
    inline_files: false,
    idempotencyKey: "k",
  });
  assert.deepEqual(sent(), {
    code: "1",
    agent: "shop",
    conversation_id: "talk",
    timeout_s: 0.5,
    stdin: "in",
    inline_files: false,
    files: [
      { name: "a.txt", content: "é" },
      { name: "b.bin", content_base64: "AP8=" },
      { name: "c", file_id: "file_1" },
    ],
  });
  assert.equal(platform.requests[0].headers["idempotency-key"], "k");
  assert.equal(platform.requests[0].headers["x-project"], "p");
});

test("large files in one piece", async () => {
  platform.on(RUN, runReply());
  const bytes = Uint8Array.from({ length: 1_000_000 }, (_, at) => at % 251);
  await client.run("1", { files: { f: bytes } });
  assert.deepEqual(new Uint8Array(Buffer.from(sent().files[0].content_base64, "base64")), bytes);
});

test("a browser behind a proxy: a path for an address, and no key", async () => {
  const asked = [];
  const fetch = async (address, init) => {
    asked.push([address, init.headers.Authorization]);
    return Response.json(runReply({ stdout: "x" }));
  };
  const run = await new Client({ url: "/sandbox/", fetch }).run("1");
  assert.equal(run.stdout, "x");
  assert.deepEqual(asked, [["/sandbox/v1/execute", undefined]]);
});

test("addresses that are none", () => {
  for (const url of ["https://user:secret@host", "https://host/?key=1", "https://host/#a"]) {
    assert.throws(
      () => new Client({ url }),
      (error) => error instanceof CodeSandboxError && !error.message.includes("secret"),
    );
  }
  assert.throws(() => new Client(), /CODE_SANDBOX_URL/);
});

test("a call", async () => {
  platform.on("POST /v1/call", { outcome: "ok", result: { a: 1 }, error: null });
  const call = await client.call("find", { n: 1 }, { agent: "shop", conversation_id: "c", idempotencyKey: "k" });
  assert.deepEqual(sent(), { tool: "find", arguments: { n: 1 }, agent: "shop", conversation_id: "c" });
  assert.deepEqual(call.result, { a: 1 });
  assert.equal(platform.requests[0].headers["idempotency-key"], "k");
});

test("lists come page after page, as they are read", async () => {
  platform.on("GET /v1/conversations?agent=shop&q=x+%26&limit=200", {
    conversations: [{ conversation_id: "a" }],
    next: "a&b",
  });
  platform.on("GET /v1/conversations?agent=shop&q=x+%26&after=a%26b&limit=200", {
    conversations: [{ conversation_id: "b" }],
    next: null,
  });
  const ids = [];
  for await (const one of client.conversations.list({ agent: "shop", text: "x &" })) {
    ids.push([one.conversation_id, platform.requests.length]);
  }
  assert.deepEqual(ids, [
    ["a", 1],
    ["b", 2],
  ]);
});

test("files by their id, or from the reply", async () => {
  platform.on("GET /v1/files/a%2Fb", { status: 200, body: new Uint8Array([0, 1, 255]) });
  assert.deepEqual(await client.files.get("a/b"), new Uint8Array([0, 1, 255]));
  assert.deepEqual(await client.files.get({ file_id: "x", content_base64: "YWJj" }), new TextEncoder().encode("abc"));
  assert.equal(platform.requests.length, 1);
});

// ---- errors

test("the service says no", async () => {
  platform.on(RUN, refusal(400, "invalid_request", "timeout_s must be …", { "X-Request-Id": "req_1" }, "timeout_s"));
  await assert.rejects(client.run("1"), (error) => {
    assert.ok(error instanceof ApiError && error instanceof CodeSandboxError && error instanceof Error);
    assert.deepEqual(
      [error.name, error.status, error.type, error.param, error.requestId, error.message],
      ["ApiError", 400, "invalid_request", "timeout_s", "req_1", "timeout_s must be …"],
    );
    return true;
  });
  assert.equal(platform.requests.length, 1);
});

test("somebody else answers", async () => {
  for (const answer of [
    { status: 502, body: "<html>" },
    { status: 403, body: { error: "no" } },
    { status: 200, body: "<html>" },
  ]) {
    platform.on(RUN, answer);
    await assert.rejects(
      client.run("1"),
      (error) => error instanceof ApiError && error.type === "unexpected" && error.status === answer.status,
    );
  }
  assert.equal(platform.requests.length, 3);
});

test("a redirect is not followed", async () => {
  platform.on(ENVIRONMENT, { status: 307, headers: { Location: `${platform.url}/elsewhere` }, body: "" });
  client = new Client({ url: platform.url, key: KEY, retries: { seconds: 0 } });
  await assert.rejects(
    client.environment(),
    (error) => error instanceof ConnectionFailed && /redirect/.test(error.message),
  );
  assert.ok(platform.requests.every((request) => request.url === "/v1/environment"));
});

// ---- trying again

test("when it is busy, as long as it says", async () => {
  platform.on(
    RUN,
    busy(1),
    refusal(429, "rate_limited", "60 a minute", { "Retry-After": "0" }),
    runReply({ stdout: "x" }),
  );
  const began = Date.now();
  assert.equal((await client.run("1")).stdout, "x");
  assert.ok(Date.now() - began >= 1000);
  assert.equal(new Set(platform.requests.map((request) => request.raw)).size, 1);
  assert.equal(platform.requests.length, 3);
});

test("not longer than allowed", async () => {
  platform.on(RUN, busy(5));
  client = new Client({ url: platform.url, key: KEY, retries: { seconds: 1 } });
  await assert.rejects(client.run("1"), (error) => error.status === 503 && error.retryAfter === 5);
  assert.equal(platform.requests.length, 1);
});

test("how long may be a date", async () => {
  const said = async (text) => {
    platform.on(RUN, refusal(503, "overloaded", "busy", { "Retry-After": text }));
    client = new Client({ url: platform.url, key: KEY, retries: { seconds: 0 } });
    return client.run("1").catch((error) => error.retryAfter);
  };
  const seconds = await said(new Date(Date.now() + 100_000).toUTCString());
  assert.ok(seconds > 90 && seconds <= 100, String(seconds));
  assert.equal(await said("Thu, 01 Jan 1970 00:00:00 GMT"), 0);
  assert.equal(await said("2.5"), 2.5);
  assert.equal(await said("soon"), undefined);
});

test("not what does not pass by waiting, or may have run", async () => {
  for (const answer of [
    refusal(429, "session_limit", "2"),
    refusal(429, "quota_exceeded", "full"),
    refusal(500, "internal", "x"),
    refusal(409, "conflict", "may have happened"),
    { status: 503, body: "<html>" },
    { status: 504, body: "" },
  ]) {
    platform.requests = [];
    platform.on(RUN, answer);
    await assert.rejects(client.run("1", { idempotencyKey: "k" }), (error) => error.status === answer.status);
    assert.equal(platform.requests.length, 1);
  }
});

test("a question whose answer is lost, but not for ever", async () => {
  platform.on(ENVIRONMENT, "drop", { status: 503, body: "proxy" }, { python: "3" });
  assert.equal((await client.environment()).python, "3");
  platform.on(ENVIRONMENT, "drop");
  platform.requests = [];
  await assert.rejects(client.environment(), ConnectionFailed);
  assert.equal(platform.requests.length, 3);
});

test("nobody there", async () => {
  const port = await new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
  client = new Client({ url: `http://127.0.0.1:${port}`, key: KEY });
  await assert.rejects(
    client.run("1"),
    (error) => error instanceof ConnectionFailed && !error.mayHaveRun && /ECONNREFUSED/.test(error.message),
  );
});

for (const [key, heeded, tries] of [
  [undefined, true, 1],
  ["k-1", false, 1],
  ["k-1", true, 2],
]) {
  test(`a run that may have happened: key ${key}, heeded ${heeded}`, async () => {
    platform.on(RUN, "drop", runReply({ stdout: "x" })).on(ENVIRONMENT, { idempotency_key: heeded });
    const options = key ? { idempotencyKey: key } : {};
    if (tries === 1) {
      await assert.rejects(client.run("1", options), (error) => error instanceof ConnectionFailed && error.mayHaveRun);
    } else {
      assert.equal((await client.run("1", options)).stdout, "x");
    }
    assert.equal(platform.posts.length, tries);
    assert.ok(platform.posts.every((request) => request.headers["idempotency-key"] === key));
  });
}

test("an answer that is cut off is lost", async () => {
  const cut = { status: 200, headers: { "Content-Length": "5000" }, body: '{"run_id"', cut: true };
  platform.on(RUN, cut, runReply({ stdout: "x" })).on(ENVIRONMENT, { idempotency_key: true });
  assert.equal((await client.run("1", { idempotencyKey: "k" })).stdout, "x");
  platform.on(RUN, cut, runReply());
  await assert.rejects(client.run("1"), (error) => error instanceof ConnectionFailed && error.mayHaveRun);
  assert.equal(platform.posts.length, 3);
});

test("a new key stays the same over tries", async () => {
  platform.on(RUN, "drop", busy(), runReply()).on(ENVIRONMENT, { idempotency_key: true });
  await client.run("1", { idempotencyKey: "auto" });
  await client.run("1", { idempotencyKey: "auto" });
  const keys = platform.posts.map((request) => request.headers["idempotency-key"]);
  assert.equal(keys.length, 4);
  assert.equal(new Set(keys.slice(0, 3)).size, 1);
  assert.notEqual(keys[3], keys[0]);
  assert.match(keys[0], /^[0-9a-f]{32}$/);
});

// ---- streams

test("events, in whatever pieces they come", async () => {
  const all =
    START +
    HELLO +
    event("result", { "text/plain": "1" }) +
    ": keep-alive\n\n" +
    event("news", { later: 1 }) +
    event("file", { file_id: "f" }) +
    event("stderr", { text: "é" }) +
    DONE;
  const bytes = Buffer.from(all);
  platform.on(
    RUN,
    Array.from({ length: Math.ceil(bytes.length / 7) }, (_, at) => bytes.subarray(at * 7, at * 7 + 7)),
  );
  const events = [];
  for await (const one of client.stream("1")) {
    events.push(one);
  }
  assert.deepEqual(
    events.map((one) => one.type),
    ["start", "stdout", "result", "file", "stderr", "done"],
  );
  assert.equal(events[4].text, "é");
  assert.equal(events[5].run.stdout, "hello");
  assert.equal(sent().stream, true);
});

test("an error in a stream", async () => {
  platform.on(RUN, [START, event("error", { error: { type: "internal", message: "no memory" } })]);
  await assert.rejects(told(client.stream("1")), (error) => error instanceof ApiError && error.type === "internal");
});

for (const steps of [
  [START, HELLO, "cut"],
  [START, HELLO],
  [START, "event: stdout\nda", "cut"],
]) {
  test(`a broken stream is taken up at its end: ${JSON.stringify(steps)}`, async () => {
    platform.on(RUN, steps, "drop", [START, DONE]).on(ENVIRONMENT, { idempotency_key: true });
    const names = await told(client.stream("1", { idempotencyKey: "k-1" }));
    assert.deepEqual(names, steps.includes(HELLO) ? ["start", "stdout", "done"] : ["start", "done"]);
    assert.equal(platform.posts.length, 3);
    assert.ok(platform.posts.every((request) => request.headers["idempotency-key"] === "k-1"));
  });
}

test("but not without a key", async () => {
  platform.on(RUN, [START, HELLO, "cut"], [START, DONE]).on(ENVIRONMENT, { idempotency_key: true });
  await assert.rejects(told(client.stream("1")), (error) => error instanceof ConnectionFailed && error.mayHaveRun);
  assert.equal(platform.posts.length, 1);
});

test("to leave a stream early closes the connection", async () => {
  platform.on(RUN, [START, HELLO, "hang"]);
  for await (const one of client.stream("1")) {
    if (one.type === "stdout") {
      break;
    }
  }
  await isGone();
});

// ---- being stopped

async function isGone() {
  for (let tries = 0; platform.gone === 0 && tries < 100; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.equal(platform.gone, 1);
}

test("a signal ends a run, with its own reason", async () => {
  platform.on(RUN, "hang");
  const stop = new AbortController();
  setTimeout(() => stop.abort(new Error("enough")), 100);
  await assert.rejects(client.run("1", { signal: stop.signal, idempotencyKey: "k" }), /enough/);
  await isGone();
  assert.equal(platform.requests.length, 1);
});

test("a signal ends a stream", async () => {
  platform.on(RUN, [START, "hang"]);
  const stop = new AbortController();
  setTimeout(() => stop.abort(new Error("enough")), 100);
  await assert.rejects(told(client.stream("1", { signal: stop.signal })), /enough/);
  await isGone();
});

test("a signal ends the wait for the next try, and one that has come already sends nothing", async () => {
  platform.on(RUN, busy(20));
  const began = Date.now();
  await assert.rejects(client.run("1", { signal: AbortSignal.timeout(200) }), { name: "TimeoutError" });
  assert.ok(Date.now() - began < 5000);
  await assert.rejects(client.run("1", { signal: AbortSignal.abort() }), { name: "AbortError" });
  await assert.rejects(told(client.stream("1", { signal: AbortSignal.abort() })), { name: "AbortError" });
  assert.equal(platform.requests.length, 1);
});

// ---- what a model is shown

test("a run as text", () => {
  const run = runReply({
    outcome: "error",
    exit_code: 1,
    stdout: "hi\n",
    stderr: "ZeroDivisionError\n",
    hint: "Do not divide by zero.",
    results: [{ "image/png": "AP8=" }, { "text/plain": "42" }],
    files: [{ name: "a/b.csv", size: 3 }],
    files_skipped: [{ name: "big", size: 9, reason: "too_large" }],
    session: { stateful: true, restarted: true, message: "Variables were lost." },
  });
  assert.equal(
    runAsText(run),
    [
      "Variables were lost.",
      "It ended with exit code 1.",
      "stdout:\nhi",
      "stderr:\nZeroDivisionError",
      "value:\n42",
      "1 chart was drawn.",
      "files written: a/b.csv (3 bytes)",
      "files not handed over: big (too_large)",
      "hint: Do not divide by zero.",
    ].join("\n\n"),
  );
  assert.deepEqual(imagesOf(run), [new Uint8Array([0, 255])]);
  assert.equal(runAsText(runReply()), "It ran, and printed nothing.");
  const long = runAsText(runReply({ stdout: "x".repeat(1e6), outcome: "timeout", exit_code: -1 }));
  assert.ok(
    long.length < 21_000 && long.startsWith("It was stopped at its time limit.") && long.includes("are left out here"),
  );
});
