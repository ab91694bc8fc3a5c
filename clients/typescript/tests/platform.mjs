// A server that answers as it is told to, and remembers what it was asked.
import { createServer } from "node:http";

export const KEY = "csk_the-key-of-the-tests";
export const RUN = "POST /v1/execute";
export const ENVIRONMENT = "GET /v1/environment";

export function runReply(fields = {}) {
  return {
    agent: null,
    conversation_id: null,
    run_id: "run_1",
    sandbox_id: "sbx_1",
    outcome: "ok",
    exit_code: 0,
    stdout: "",
    stderr: "",
    stdout_truncated: false,
    stderr_truncated: false,
    results: [],
    files: [],
    files_skipped: [],
    files_skipped_unnamed: 0,
    files_complete: true,
    session: { stateful: false, restarted: false, message: null },
    usage: { start_ms: 1, wall_ms: 2, cpu_ms: 3, max_memory_bytes: 4, queue_ms: 5 },
    hint: null,
    ...fields,
  };
}

export function refusal(status, type, message, headers = {}, param = undefined) {
  return { status, headers, body: { error: { type, message, param } } };
}

export const busy = (seconds = 0) =>
  refusal(503, "overloaded", "All places are taken.", { "Retry-After": String(seconds) });

export const event = (name, data) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/**
 * Answers by "METHOD /path", one after the other, and the last one stays: an object is a JSON reply; with `status` it
 * is an answer with `body`, which `cut` ends before its end; "drop" closes the connection; "hang" waits until the client
 * is gone; a list is a stream of texts, in which "cut" closes the connection and "hang" waits.
 */
export class Platform {
  requests = [];
  gone = 0;
  #answers = {};
  #server = createServer((request, response) => this.#handle(request, response));

  static async start() {
    const platform = new Platform();
    await new Promise((resolve) => platform.#server.listen(0, "127.0.0.1", resolve));
    platform.url = `http://127.0.0.1:${platform.#server.address().port}`;
    return platform;
  }

  on(what, ...answers) {
    this.#answers[what] = answers;
    return this;
  }

  get posts() {
    return this.requests.filter((request) => request.method === "POST");
  }

  close() {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #handle(request, response) {
    const pieces = [];
    for await (const piece of request) {
      pieces.push(piece);
    }
    const raw = Buffer.concat(pieces).toString();
    this.requests.push({ method: request.method, url: request.url, headers: request.headers, raw });
    const answers = this.#answers[`${request.method} ${request.url}`] ?? [
      refusal(404, "not_found", `no ${request.url}`),
    ];
    const answer = answers.length > 1 ? answers.shift() : answers[0];
    response.on("close", () => (this.gone += response.writableFinished ? 0 : 1));
    if (answer === "drop") {
      request.socket.destroy();
    } else if (Array.isArray(answer)) {
      await this.#stream(response, answer);
    } else if (answer !== "hang") {
      this.#reply(response, "status" in answer ? answer : { status: 200, body: answer });
    }
  }

  #reply(response, { status, headers = {}, body, cut = false }) {
    const bytes = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
    response.writeHead(status, { "Content-Type": "application/json", ...headers });
    if (cut) {
      response.write(bytes, () => response.socket?.destroy());
    } else {
      response.end(bytes);
    }
  }

  async #stream(response, steps) {
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    for (const step of steps) {
      if (step === "hang") {
        return;
      }
      if (step === "cut") {
        await new Promise((resolve) => setTimeout(resolve, 20));
        response.socket?.destroy();
        return;
      }
      response.write(step);
    }
    response.end();
  }
}
