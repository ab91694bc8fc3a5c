// One request and its answer: errors as exceptions, and trying again where that is safe.
//
// It is safe when nothing has run: the service says so by 429 and 503, or the connection never came about. Once a
// request that runs something has been sent and its answer is lost, it may have run, and only an Idempotency-Key makes
// a second try safe; and that only with a service that heeds one.

import { ApiError, ConnectionFailed } from "./errors.js";

export interface Retries {
  /** Bounds the pauses between tries, together; 0 tries once. */
  seconds: number;
  lostConnections: number;
}

export interface Outgoing {
  method: string;
  path: string;
  body?: string;
  idempotencyKey?: string | undefined;
  /** Asking twice is as good as once. */
  repeatable: boolean;
  signal?: AbortSignal | undefined;
}

export interface Connection {
  /** Without a slash at its end. */
  base: string;
  headers: Record<string, string>;
  retries: Retries;
  fetch: typeof fetch;
  heedsKeys(signal: AbortSignal | undefined): Promise<boolean>;
}

const FIRST_PAUSE = 0.25;
const LONGEST_PAUSE = 10;

/** Of Node: nobody has been reached, so nothing has run. Browsers do not tell. */
const NEVER_SENT = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** fetch() wraps what went wrong; several addresses make an AggregateError. */
function codesOf(problem: unknown): string[] {
  if (typeof problem !== "object" || problem === null) {
    return [];
  }
  const { code, cause, errors } = problem as { code?: unknown; cause?: unknown; errors?: unknown };
  const inner = Array.isArray(errors) ? errors.flatMap(codesOf) : [];
  return [...(typeof code === "string" ? [code] : []), ...inner, ...codesOf(cause)];
}

/** "fetch failed" says nothing; its cause does. */
function wordsOf(problem: unknown): string {
  const cause = problem instanceof Error ? problem.cause : undefined;
  return cause instanceof Error && cause.message
    ? wordsOf(cause)
    : problem instanceof Error
      ? problem.message
      : String(problem);
}

function lost(base: string, problem: unknown): ConnectionFailed {
  const codes = codesOf(problem);
  const neverSent = codes.length > 0 && codes.every((code) => NEVER_SENT.has(code));
  const words = codes[0] ?? wordsOf(problem);
  return neverSent
    ? new ConnectionFailed(`No service can be reached at ${base}: ${words}.`, false, problem)
    : new ConnectionFailed(`The connection to ${base} was lost: ${words}.`, true, problem);
}

/** What Retry-After says: seconds, as of the service, or a date, as proxies may send it. */
function secondsOf(text: string): number | undefined {
  const number = Number.parseFloat(text);
  const seconds = Number.isNaN(number) ? (Date.parse(text) - Date.now()) / 1000 : number;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}

export async function errorOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => "");
  const details = {
    retryAfter: secondsOf(response.headers.get("Retry-After") ?? ""),
    requestId: response.headers.get("X-Request-Id") ?? undefined,
  };
  try {
    const { type, message, param } = (JSON.parse(text) as { error: Record<string, unknown> }).error;
    if (typeof type === "string" && typeof message === "string") {
      return new ApiError(response.status, type, message, {
        ...details,
        param: typeof param === "string" ? param : undefined,
      });
    }
  } catch {
    // said below
  }
  const shown = JSON.stringify(text.slice(0, 200).trim());
  return new ApiError(response.status, "unexpected", `This is no answer of a Code Sandbox: ${shown}`, details);
}

/**
 * The service's own words for "not now". A 503 without them may be of a proxy, which may have passed the request on.
 * Other kinds of 429 (sessions, quota) do not pass by waiting for a moment.
 */
function nothingRan(error: ApiError): boolean {
  return (
    (error.status === 429 || error.status === 503) && (error.type === "rate_limited" || error.type === "overloaded")
  );
}

function wait(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, seconds * 1000);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** Tries of one request. */
export class Exchange {
  readonly #connection: Connection;
  readonly #request: Outgoing;
  #tries = 0;
  #paused = 0;
  #lost = 0;

  constructor(connection: Connection, request: Outgoing) {
    this.#connection = connection;
    this.#request = request;
  }

  /** The beginning of a good answer. */
  async open(): Promise<Response> {
    for (;;) {
      try {
        return await this.#try();
      } catch (error) {
        await this.#rest(error);
      }
    }
  }

  /** The same once more, as the rest of its answer was lost. Throws that where there must not be another try. */
  async again(problem: unknown): Promise<Response> {
    await this.#rest(this.#told(problem));
    return this.open();
  }

  /** A good answer, whole. */
  async whole<T>(read: (response: Response) => Promise<T>): Promise<T> {
    let response = await this.open();
    for (;;) {
      try {
        return await read(response);
      } catch (problem) {
        if (problem instanceof SyntaxError) {
          throw new ApiError(response.status, "unexpected", "This is no answer of a Code Sandbox: it is not JSON.");
        }
        response = await this.again(problem);
      }
    }
  }

  async #try(): Promise<Response> {
    const { method, path, body, idempotencyKey, signal } = this.#request;
    const headers = { ...this.#connection.headers };
    if (body !== undefined) {
      headers["Content-Type"] = "application/json";
    }
    if (idempotencyKey !== undefined) {
      headers["Idempotency-Key"] = idempotencyKey;
    }
    signal?.throwIfAborted();
    let response: Response;
    try {
      // Redirects are not followed: the key would go along.
      response = await this.#connection.fetch(this.#connection.base + path, {
        method,
        headers,
        redirect: "error",
        ...(body === undefined ? {} : { body }),
        ...(signal ? { signal } : {}),
      });
    } catch (problem) {
      throw this.#told(problem);
    }
    if (response.ok) {
      return response;
    }
    throw await errorOf(response);
  }

  /** What a failed fetch is for the caller. */
  #told(problem: unknown): unknown {
    const { signal } = this.#request;
    if (signal?.aborted) {
      return signal.reason;
    }
    return problem instanceof ApiError || problem instanceof ConnectionFailed
      ? problem
      : lost(this.#connection.base, problem);
  }

  /** Until the next try; throws the error where there must not be one. */
  async #rest(error: unknown): Promise<void> {
    const { signal } = this.#request;
    const pause = signal?.aborted ? undefined : await this.#pauseFor(error);
    if (pause === undefined) {
      throw error;
    }
    this.#tries++;
    this.#paused += pause;
    await wait(pause, signal);
  }

  async #pauseFor(error: unknown): Promise<number | undefined> {
    const { repeatable } = this.#request;
    const growing = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** this.#tries) * (0.75 + Math.random() / 2);
    let pause = growing;
    if (error instanceof ApiError) {
      if (!nothingRan(error) && !(error.status === 503 && repeatable)) {
        return undefined;
      }
      pause = Math.max(growing, error.retryAfter ?? 0);
    } else if (error instanceof ConnectionFailed) {
      this.#lost++;
      if (this.#lost > this.#connection.retries.lostConnections || (error.mayHaveRun && !(await this.#safeTwice()))) {
        return undefined;
      }
    } else {
      return undefined;
    }
    return this.#paused + pause <= this.#connection.retries.seconds ? pause : undefined;
  }

  async #safeTwice(): Promise<boolean> {
    const { repeatable, idempotencyKey, signal } = this.#request;
    return repeatable || (idempotencyKey !== undefined && (await this.#connection.heedsKeys(signal)));
  }
}
