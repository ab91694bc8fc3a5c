// Server-sent events of a run: bytes in, events out.

import { ApiError } from "./errors.js";
import type { Result, Run, RunEvent, RunFile } from "./models.js";

/** Lines of a body, without their ends. What comes after the last end of a line is none. */
async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest: string[] = []; // of one line: it may be megabytes, which are not to be copied with each piece
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        return;
      }
      const lines = decoder.decode(value, { stream: true }).split("\n");
      const last = lines.pop() ?? "";
      for (const line of lines) {
        yield (rest.join("") + line).replace(/\r$/, "");
        rest = [];
      }
      rest.push(last);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function eventOf(name: string, data: string): RunEvent | undefined {
  const value: unknown = JSON.parse(data);
  switch (name) {
    case "start":
      return { type: "start", ...(value as { run_id: string; sandbox_id: string }) };
    case "stdout":
    case "stderr":
      return { type: name, text: (value as { text: string }).text };
    case "result":
      return { type: "result", data: value as Result };
    case "file":
      return { type: "file", file: value as RunFile };
    case "done":
      return { type: "done", run: value as Run };
    case "error": {
      const { type, message } = (value as { error: { type: string; message: string } }).error;
      throw new ApiError(200, type, message);
    }
    default:
      return undefined; // of a later version
  }
}

/** Unknown events are passed over. Ends where the body does, be it the end or not. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<RunEvent, void, undefined> {
  let name = "";
  let data: string[] = [];
  for await (const line of linesOf(body)) {
    if (line === "") {
      const event = data.length > 0 ? eventOf(name, data.join("\n")) : undefined;
      name = "";
      data = [];
      if (event) {
        yield event;
      }
    } else if (line.startsWith("event:")) {
      name = line.slice(6).trim();
    } else if (line.startsWith("data:")) {
      data.push(line.slice(5).replace(/^ /, ""));
    }
  }
}
