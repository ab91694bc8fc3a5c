// Compiled only: what an editor knows of the client, and what it refuses.
import { ApiError, Client, type Run, type RunEvent } from "@code-sandbox/client";

const client = new Client({ url: "https://sandbox.example.org", key: "csk_…" });

export async function use(signal: AbortSignal): Promise<string> {
  const run: Run = await client.run("1", { files: { "a.csv": "x", "b.bin": new Uint8Array() }, signal });
  const again: Run = await client.run("1", { files: { a: run.files[0]! } });
  const call = await client.call<{ total: number }>("find", { n: 1 }, { agent: "shop" });
  const total: number | undefined = call.result?.total;
  for await (const event of client.stream("1")) {
    told(event);
  }
  // @ts-expect-error: code is a text
  await client.run(1);
  // @ts-expect-error: no such option
  await client.run("1", { timeout: 3 });
  // @ts-expect-error: no such outcome
  return again.outcome === "fine" ? "" : `${total}`;
}

function told(event: RunEvent): string | number {
  switch (event.type) {
    case "stdout":
    case "stderr":
      return event.text;
    case "done":
      return event.run.exit_code;
    case "file":
      return event.file.size;
    case "result":
      return event.data["text/plain"] ?? "";
    case "start":
      return event.run_id;
  }
}

export function said(error: unknown): string | undefined {
  return error instanceof ApiError ? (error.retryAfter?.toFixed() ?? error.param) : undefined;
}
