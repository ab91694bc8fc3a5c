// The client: what it asks, and what it makes of the answers.

import { decodeBase64, encodeBase64 } from "./base64.js";
import { CodeSandboxError, ConnectionFailed } from "./errors.js";
import { eventsOf } from "./events.js";
import { type Connection, Exchange, type Outgoing, type Retries } from "./exchange.js";
import type {
  Agent,
  AgentEnv,
  AgentSummary,
  Call,
  Conversation,
  Environment,
  KeptRun,
  Run,
  RunEvent,
  RunFile,
  RunSummary,
  Session,
  Tool,
} from "./models.js";

export interface ClientOptions {
  /** Where the service is; CODE_SANDBOX_URL in Node. In a browser it may be a path, such as "/sandbox". */
  url?: string;
  /** CODE_SANDBOX_KEY in Node. Never give one to a browser: leave it out there, and let your proxy add it. */
  key?: string;
  /** On behalf of which agent runs and calls are; CODE_SANDBOX_AGENT in Node. */
  agent?: string;
  /** With an admin key: the project to act in. */
  project?: string;
  /** How long to go on trying: 30 seconds, and 2 lost connections. */
  retries?: Partial<Retries>;
  fetch?: typeof fetch;
}

/** Of every request. */
export interface RequestOptions {
  /** Ends the request, and with it its run. The call then throws the signal's reason. */
  signal?: AbortSignal;
}

/** A text; bytes; or a file of an earlier run that was kept. */
export type FileInput = string | Uint8Array | { file_id: string };

interface WhatRuns extends RequestOptions {
  agent?: string;
  conversation_id?: string;
  timeout_s?: number;
  /**
   * Makes it safe to try again after a lost answer: a text of your own, or "auto" for a new one. The run then goes on
   * if this client goes away.
   */
  idempotencyKey?: string;
}

export interface RunOptions extends WhatRuns {
  /** By their names in the working directory. */
  files?: Record<string, FileInput>;
  stdin?: string;
  inline_files?: boolean;
}

export type CallOptions = WhatRuns;

export type ToolFormat = "openai" | "openai-responses" | "anthropic" | "gemini" | "mcp";

interface Page {
  next?: string | null;
}

function variable(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name] || undefined;
}

function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function query(values: Record<string, string | number | undefined>): string {
  const given = Object.entries(values).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return given.length > 0 ? `?${new URLSearchParams(given)}` : "";
}

function inputFile(name: string, content: FileInput): Record<string, string> {
  if (typeof content === "string") {
    return { name, content };
  }
  return content instanceof Uint8Array
    ? { name, content_base64: encodeBase64(content) }
    : { name, file_id: content.file_id };
}

function get(path: string, options: RequestOptions = {}): Outgoing {
  return { method: "GET", path, repeatable: true, signal: options.signal };
}

function change(method: string, path: string, body: unknown, options: RequestOptions = {}): Outgoing {
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  return { method, path, repeatable: true, signal: options.signal, ...sent };
}

function ask<T>(connection: Connection, request: Outgoing): Promise<T> {
  return new Exchange(connection, request).whole((response) => response.json() as Promise<T>);
}

async function tell(connection: Connection, request: Outgoing): Promise<void> {
  await new Exchange(connection, request).whole((response) => response.text());
}

/** Entries of a list, page after page as they are read. */
async function* entries<T>(
  connection: Connection,
  path: string,
  member: string,
  values: Record<string, string | undefined>,
  options: RequestOptions,
): AsyncGenerator<T, void, undefined> {
  let after: string | undefined;
  do {
    const page = await ask<Page & Record<string, T[]>>(
      connection,
      get(path + query({ ...values, after, limit: 200 }), options),
    );
    yield* page[member] ?? [];
    after = page.next ?? undefined;
  } while (after !== undefined);
}

const part = encodeURIComponent;

class Part {
  protected readonly connection: Connection;

  constructor(connection: Connection) {
    this.connection = connection;
  }
}

/** Kept files. */
export class Files extends Part {
  /** What is in a file, by the file or its id. */
  get(file: RunFile | string, options?: RequestOptions): Promise<Uint8Array> {
    if (typeof file !== "string" && file.content_base64 !== undefined) {
      return Promise.resolve(decodeBase64(file.content_base64));
    }
    const id = typeof file === "string" ? file : file.file_id;
    const request = get(`/v1/files/${part(id)}`, options);
    return new Exchange(this.connection, request).whole(
      async (response) => new Uint8Array(await response.arrayBuffer()),
    );
  }

  /** Latest first; with `latest` only the last one of each name. */
  list(
    conversationId: string,
    options: RequestOptions & { latest?: boolean } = {},
  ): AsyncGenerator<RunFile, void, undefined> {
    const latest = options.latest ? "1" : undefined;
    return entries(this.connection, `/v1/conversations/${part(conversationId)}/files`, "files", { latest }, options);
  }
}

export class Conversations extends Part {
  /** Latest activity first; those of one agent, or with that text in their id or agent. */
  list(
    options: RequestOptions & { agent?: string; text?: string } = {},
  ): AsyncGenerator<Conversation, void, undefined> {
    const { agent, text: q } = options;
    return entries(this.connection, "/v1/conversations", "conversations", { agent, q }, options);
  }

  get(conversationId: string, options?: RequestOptions): Promise<Conversation> {
    return ask(this.connection, get(`/v1/conversations/${part(conversationId)}`, options));
  }

  /** With its interpreter, its runs and its files. */
  delete(conversationId: string, options?: RequestOptions): Promise<void> {
    return tell(this.connection, change("DELETE", `/v1/conversations/${part(conversationId)}`, undefined, options));
  }

  /** Oldest first. */
  runs(conversationId: string, options: RequestOptions = {}): AsyncGenerator<RunSummary, void, undefined> {
    return entries(this.connection, `/v1/conversations/${part(conversationId)}/runs`, "runs", {}, options);
  }

  /** One kept run, with its code. */
  run(runId: string, options?: RequestOptions): Promise<KeptRun> {
    return ask(this.connection, get(`/v1/runs/${part(runId)}`, options));
  }
}

/** Live interpreters of stateful agents. */
export class Sessions extends Part {
  async list(options?: RequestOptions): Promise<Session[]> {
    return (await ask<{ sessions: Session[] }>(this.connection, get("/v1/sessions", options))).sessions;
  }

  /** Whether there was one. Its files stay. */
  async end(conversationId: string, options?: RequestOptions): Promise<boolean> {
    const request = change("DELETE", `/v1/conversations/${part(conversationId)}/session`, undefined, options);
    return (await ask<{ ended: boolean }>(this.connection, request)).ended;
  }
}

export class Agents extends Part {
  list(options: RequestOptions = {}): AsyncGenerator<AgentSummary, void, undefined> {
    return entries(this.connection, "/v1/agents", "agents", {}, options);
  }

  get(name: string, options?: RequestOptions): Promise<Agent> {
    return ask(this.connection, get(`/v1/agents/${part(name)}`, options));
  }

  /** Makes or changes one; what is left out stays. */
  put(name: string, what: { image?: string; tools?: Tool[] } = {}, options?: RequestOptions): Promise<Agent> {
    return ask(this.connection, change("PUT", `/v1/agents/${part(name)}`, what, options));
  }

  /** With its settings; its conversations stay. */
  delete(name: string, options?: RequestOptions): Promise<void> {
    return tell(this.connection, change("DELETE", `/v1/agents/${part(name)}`, undefined, options));
  }

  env(name: string, options?: RequestOptions): Promise<AgentEnv> {
    return ask(this.connection, get(`/v1/agents/${part(name)}/env`, options));
  }

  /** Returns where the value has less effect than it says. */
  async setEnv(name: string, key: string, value: string, options?: RequestOptions): Promise<string[]> {
    const request = change("PUT", `/v1/agents/${part(name)}/env/${part(key)}`, { value }, options);
    return (await ask<{ warnings?: string[] }>(this.connection, request)).warnings ?? [];
  }

  deleteEnv(name: string, key: string, options?: RequestOptions): Promise<void> {
    return tell(this.connection, change("DELETE", `/v1/agents/${part(name)}/env/${part(key)}`, undefined, options));
  }
}

/** A connection to the Code Sandbox. */
export class Client {
  readonly files: Files;
  readonly conversations: Conversations;
  readonly sessions: Sessions;
  readonly agents: Agents;
  readonly #connection: Connection;
  readonly #agent: string | undefined;

  constructor(options: ClientOptions = {}) {
    const url = options.url ?? variable("CODE_SANDBOX_URL");
    const key = options.key ?? variable("CODE_SANDBOX_KEY");
    if (url === undefined) {
      throw new CodeSandboxError(
        "The client needs the address of the service: new Client({ url }), or CODE_SANDBOX_URL.",
      );
    }
    if (/^[a-z]+:\/\/[^/]*@/i.test(url) || /[?#]/.test(url)) {
      throw new CodeSandboxError("The address of the service must have no user, key, query or fragment in it.");
    }
    this.#agent = options.agent ?? variable("CODE_SANDBOX_AGENT");
    this.#connection = {
      base: url.replace(/\/+$/, ""),
      headers: {
        Accept: "application/json, text/event-stream;q=0.9, */*;q=0.1",
        ...(key === undefined ? {} : { Authorization: `Bearer ${key}` }),
        ...(options.project === undefined ? {} : { "X-Project": options.project }),
      },
      retries: { seconds: 30, lostConnections: 2, ...options.retries },
      fetch: options.fetch ?? ((input, init) => fetch(input, init)),
      heedsKeys: (signal) => this.#heedsKeys(signal),
    };
    this.files = new Files(this.#connection);
    this.conversations = new Conversations(this.#connection);
    this.sessions = new Sessions(this.#connection);
    this.agents = new Agents(this.#connection);
  }

  /** Runs code and waits for what comes of it. A failed snippet is a result, not an error. */
  run(code: string, options: RunOptions = {}): Promise<Run> {
    return ask(this.#connection, this.#execute(code, options, false));
  }

  /**
   * Runs code and gives news as they happen. To leave the loop early ends the run. With an `idempotencyKey` a stream
   * that breaks is taken up at its end.
   */
  async *stream(code: string, options: RunOptions = {}): AsyncGenerator<RunEvent, void, undefined> {
    const leaving = new AbortController();
    const leave = (): void => leaving.abort(options.signal?.reason);
    options.signal?.throwIfAborted();
    options.signal?.addEventListener("abort", leave, { once: true });
    try {
      const request = { ...this.#execute(code, options, true), signal: leaving.signal };
      yield* this.#follow(new Exchange(this.#connection, request));
    } finally {
      options.signal?.removeEventListener("abort", leave);
      leaving.abort();
    }
  }

  /** Runs a tool of an agent's image. An exception of the tool is a result here: see `error`. */
  call<T = unknown>(tool: string, args: Record<string, unknown> = {}, options: CallOptions = {}): Promise<Call<T>> {
    return ask(this.#connection, this.#post("/v1/call", { tool, arguments: args }, options));
  }

  /** What snippets find: Python, packages, limits. */
  environment(options?: RequestOptions): Promise<Environment> {
    return ask(this.#connection, get("/v1/environment", options));
  }

  /** What to tell a model of run_python, in the form that its API takes. */
  describeRunPython(
    format: ToolFormat = "openai",
    options: RequestOptions & { agent?: string } = {},
  ): Promise<Record<string, unknown>> {
    const agent = options.agent ?? this.#agent;
    return ask(this.#connection, get(`/v1/tools/run_python${query({ format, agent })}`, options));
  }

  async *#follow(exchange: Exchange): AsyncGenerator<RunEvent, void, undefined> {
    let started = false;
    let response = await exchange.open();
    for (;;) {
      let problem: unknown = new ConnectionFailed("The stream ended before the run did.", true);
      try {
        for await (const event of response.body ? eventsOf(response.body) : []) {
          if (event.type === "start" && started) {
            continue; // of a stream that was taken up
          }
          started = true;
          yield event;
          if (event.type === "done") {
            return;
          }
        }
      } catch (caught) {
        problem = caught instanceof SyntaxError ? problem : caught;
      }
      response = await exchange.again(problem);
    }
  }

  #execute(code: string, options: RunOptions, stream: boolean): Outgoing {
    const { files, stdin, inline_files } = options;
    const listed = files && Object.entries(files).map(([name, content]) => inputFile(name, content));
    return this.#post(
      "/v1/execute",
      { code, files: listed, stdin, inline_files, ...(stream ? { stream } : {}) },
      options,
    );
  }

  /** What is undefined is left out of JSON. */
  #post(path: string, members: Record<string, unknown>, options: WhatRuns): Outgoing {
    const { agent = this.#agent, conversation_id, timeout_s, idempotencyKey, signal } = options;
    return {
      method: "POST",
      path,
      body: JSON.stringify({ ...members, agent, conversation_id, timeout_s }),
      idempotencyKey: idempotencyKey === "auto" ? newKey() : idempotencyKey,
      repeatable: false,
      signal,
    };
  }

  /** Asked only when it matters: after an answer was lost. */
  async #heedsKeys(signal: AbortSignal | undefined): Promise<boolean> {
    try {
      return (await this.environment(signal ? { signal } : {})).idempotency_key === true;
    } catch {
      return false;
    }
  }
}
